import { describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import { createTraceDeleter } from "@waymark/traces";
import { Registry } from "prom-client";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { createGroupCommitFactory } from "../batching/group-commit.js";

describe("DELETE /api/v1/traces/:trace_id", () => {
  const test = useApp({ lockTimeoutMs: 3_000 });

  async function rowsOf(traceId: string) {
    const { rows } = await test.pool.query(
      `SELECT (SELECT count(*)::int FROM trace WHERE id = $1) AS traces,
              (SELECT count(*)::int FROM span WHERE trace_id = $1) AS spans,
              (SELECT count(*)::int FROM alert WHERE trace_id = $1) AS alerts`,
      [traceId],
    );
    return rows[0];
  }

  async function makeRun(account: TestAccount) {
    const id = await account.makeTrace();
    for (let n = 0; n < 3; n++) await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(201);
    await account.patch(`/api/v1/traces/${id}`, { status: "error" }).expect(200);
    return id;
  }

  describe("200", () => {
    it("removes the trace, its spans and its pending alert, and nothing of other traces", async () => {
      const account = await test.makeAccount("pro");
      const [gone, kept] = [await makeRun(account), await makeRun(account)];
      expect(await rowsOf(gone)).toEqual({ traces: 1, spans: 3, alerts: 1 });
      await account.delete(`/api/v1/traces/${gone}`).expect(200, { ok: true });
      expect(await rowsOf(gone)).toEqual({ traces: 0, spans: 0, alerts: 0 });
      expect(await rowsOf(kept)).toEqual({ traces: 1, spans: 3, alerts: 1 });
      const { body } = await account.get("/api/v1/traces").expect(200);
      expect(body.traces.map(({ id }: { id: string }) => id)).toEqual([kept]);
      await account.patch(`/api/v1/traces/${gone}`, { status: "error" }).expect(404);
      await account.post(`/api/v1/traces/${gone}/spans`, spanBody()).expect(404);
    });

    it("removes every pending alert, also of an earlier failure, and keeps sent ones", async () => {
      const account = await test.makeAccount("pro");
      const id = await makeRun(account);
      await test.pool.query("UPDATE alert SET sent_at = now() WHERE trace_id = $1", [id]);
      for (const status of ["success", "error", "timeout"])
        await account.patch(`/api/v1/traces/${id}`, { status }).expect(200);
      expect(await rowsOf(id)).toMatchObject({ alerts: 3 });
      await account.delete(`/api/v1/traces/${id}`).expect(200);
      expect(await rowsOf(id)).toMatchObject({ alerts: 1 });
    });

    it("gives nothing of the month back", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      await account.delete(`/api/v1/traces/${id.toUpperCase()}`).expect(200);
      expect((await account.get("/api/v1/usage").expect(200)).body.traces.current).toBe(1);
    });

    it("is answered to one of many at a time, the others find nothing", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      const answers = await Promise.all(Array.from({ length: 8 }, () => account.delete(`/api/v1/traces/${id}`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(404)]);
    });

    it("leaves no trace among spans, changes and mails that come at the same time", async () => {
      const account = await test.makeAccount("pro");
      for (let round = 0; round < 10; round++) {
        const id = await account.makeTrace();
        const path = `/api/v1/traces/${id}`;
        const writes = [
          ...Array.from({ length: 5 }, () => account.post(`${path}/spans`, spanBody())),
          account.patch(path, { status: "error" }),
          account.patch(path, { status: "timeout" }),
        ];
        const [deleted, ...others] = await Promise.all([account.delete(path), ...writes]);
        expect(deleted?.status).toBe(200);
        for (const { status } of others) expect([200, 201, 404]).toContain(status);
        await account.get(path).expect(404);
        expect(await rowsOf(id)).toMatchObject({ traces: 0 });
      }
    });
  });

  describe("a trace of any size", () => {
    const addSpans = (account: TestAccount, traceId: string, spans: number) =>
      test.pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
         SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', now() FROM generate_series(1, $3::int) n`,
        [account.id, traceId, spans],
      );
    const makeDeleter = (chunkSpans: number) => {
      const registry = new Registry();
      const log = createLogger({ service: "trace-api", level: "silent" });
      return {
        registry,
        remove: createTraceDeleter(
          { pool: test.pool, createGroupCommit: createGroupCommitFactory(registry), log },
          chunkSpans,
        ),
      };
    };

    it("is gone at once, and its spans go in pieces: 200,000 of them by 41 statements", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await addSpans(account, id, 200_000);
      const { registry, remove } = makeDeleter(5_000);
      expect(await remove(account.id, id)).toBe(true);
      expect(await rowsOf(id)).toEqual({ traces: 0, spans: 0, alerts: 0 });
      expect(await registry.metrics()).toContain('waymark_rows_per_statement_count{statement="delete-spans"} 41');
    });

    it("is not found while its spans are being deleted, and holds up nothing else of its account", async () => {
      const account = await test.makeAccount("pro");
      const [id, other] = [await account.makeTrace(), await account.makeTrace()];
      await addSpans(account, id, 30);
      const lock = await test.hold("SELECT FROM span WHERE trace_id = $1 ORDER BY id OFFSET 15 FOR UPDATE", [id]);
      const removed = makeDeleter(10).remove(account.id, id);
      await test.untilLockWaits();
      await account.get(`/api/v1/traces/${id}`).expect(404);
      await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(404);
      await account.patch(`/api/v1/traces/${other}`, { status: "success" }).expect(200);
      await account.delete(`/api/v1/traces/${other}`).expect(200);
      await lock.rollback();
      expect(await removed).toBe(true);
      expect(await rowsOf(id)).toMatchObject({ traces: 0, spans: 0 });
    });

    it("loses what a killed process left of it when it is deleted again, which finds no trace", async () => {
      const account = await test.makeAccount("pro");
      const [id, kept] = [await account.makeTrace(), await account.makeTrace()];
      await addSpans(account, id, 25);
      await account.post(`/api/v1/traces/${kept}/spans`, spanBody()).expect(201);
      await test.pool.query("DELETE FROM trace WHERE id = $1", [id]);
      const stranger = await test.makeAccount("pro");
      await stranger.delete(`/api/v1/traces/${id}`).expect(404);
      expect(await rowsOf(id)).toMatchObject({ spans: 25 });
      await account.delete(`/api/v1/traces/${id}`).expect(404);
      expect(await rowsOf(id)).toMatchObject({ spans: 0 });
      expect(await rowsOf(kept)).toMatchObject({ spans: 1 });
    });
  });

  describe("404", () => {
    it("answers it the second time", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      await account.delete(`/api/v1/traces/${id}`).expect(200);
      await account.delete(`/api/v1/traces/${id}`).expect(404, { error: "Trace not found" });
    });

    it("answers it for another account's trace, which stays", async () => {
      const [owner, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const id = await makeRun(owner);
      await other.delete(`/api/v1/traces/${id}`).expect(404, { error: "Trace not found" });
      expect(await rowsOf(id)).toEqual({ traces: 1, spans: 3, alerts: 1 });
    });

    it.each(["unknown", "00000000-0000-7000-8000-000000000000", "%00"])("answers it for %s", async (id) => {
      const account = await test.makeAccount("free");
      await account.delete(`/api/v1/traces/${id}`).expect(404, { error: "Trace not found" });
    });
  });

  it("answers 503 where somebody keeps the trace locked, and works afterwards", async () => {
    const account = await test.makeAccount("free");
    const id = await account.makeTrace();
    const client = await test.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT FROM trace WHERE id = $1 FOR UPDATE", [id]);
      const answer = await account.delete(`/api/v1/traces/${id}`).expect(503);
      expect(answer.headers["retry-after"]).toBeDefined();
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
    await account.delete(`/api/v1/traces/${id}`).expect(200);
  });
});

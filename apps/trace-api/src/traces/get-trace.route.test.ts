import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createRefusals, createShares } from "@waymark/service/http";
import { createTraceReader, largeAnswerLimits } from "@waymark/traces";
import { Registry } from "prom-client";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { createGroupCommitFactory } from "../batching/group-commit.js";

const fixtures = new URL("../../fixtures/", import.meta.url);

interface Run {
  trace: Record<string, unknown> & { started_at: string };
  spans: (Record<string, unknown> & { started_at: string; ended_at: string | null; parent: number | null })[];
  final: { status: string; ended_at: string };
}

/** The instant as the service writes it. */
function utc(text: unknown): unknown {
  return typeof text === "string" ? text.replace(/\+00:00$/, "Z").replace(/(\.\d{3})000Z$/, "$1Z") : text;
}

describe("GET /api/v1/traces/:trace_id", () => {
  const test = useApp();
  const makeReader = () => {
    const registry = new Registry();
    const { readTrace } = createTraceReader({
      pool: test.pool,
      createGroupCommit: createGroupCommitFactory(registry),
      largeAnswers: createShares(largeAnswerLimits, createRefusals(registry)),
    });
    return async (trace: Parameters<typeof readTrace>[0]) => (await readTrace(trace))?.body;
  };
  /** Adds spans with values that Postgres compresses to a ninetieth. */
  const addLetters = (account: TestAccount, traceId: string, spans: number, bytes: number) =>
    test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
       SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', now(), to_json(repeat('x', $4::int))
       FROM generate_series(1, $3::int) n`,
      [account.id, traceId, spans, bytes],
    );

  describe("200", () => {
    it("shows times in UTC with Z, milliseconds always and microseconds where there are any", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace({
        started_at: "2026-06-01T14:00:00+02:00",
        ended_at: "0001-01-01T00:00:00.000001Z",
      });
      expect((await account.get(`/api/v1/traces/${id}`)).body).toMatchObject({
        started_at: "2026-06-01T12:00:00.000Z",
        ended_at: "0001-01-01T00:00:00.000001Z",
      });
      const late = await account.makeTrace({ started_at: "9999-12-31T23:59:59.999999999Z" });
      expect((await account.get(`/api/v1/traces/${late}`)).body.started_at).toBe("9999-12-31T23:59:59.999999Z");
    });

    it("finds a trace by its id in upper case too, since both write the same UUID", async () => {
      const account = await test.makeAccount("free");
      const id = await account.makeTrace();
      await account.get(`/api/v1/traces/${id.toUpperCase()}`).expect(200);
    });

    it("sees each write that was answered", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      for (let n = 1; n <= 20; n++) {
        await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(201);
        expect((await account.get(`/api/v1/traces/${id}`)).body.spans).toHaveLength(n);
      }
    });

    it("reads 10,000 spans, of all sizes, in order and each once", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace({ metadata: { large: true } });
      // Incompressible values of up to 20 kB, so pages are cut by size as well as by number.
      await test.pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input, error)
         SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 'step ' || n, 'ok', now(),
           CASE WHEN n % 500 = 0 THEN (
             SELECT to_json(string_agg(md5(n::text || m), '')) FROM generate_series(1, n / 16) m
           ) ELSE to_json(n) END,
           CASE WHEN n % 3 = 0 THEN 'error \u0022 ' || n END
         FROM generate_series(1, 10000) n`,
        [account.id, id],
      );
      const answer = await account.get(`/api/v1/traces/${id}`).expect(200);
      expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
      expect(answer.headers["transfer-encoding"]).toBe("chunked");
      expect(answer.body.metadata).toEqual({ large: true });
      const names = answer.body.spans.map(({ name }: { name: string }) => name);
      expect(names).toEqual(Array.from({ length: 10_000 }, (_, n) => `step ${n + 1}`));
      expect(answer.body.spans[9_999].input).toHaveLength(20_000);
      await account.head(`/api/v1/traces/${id}`).expect(200);
    });

    it.each([
      [999, undefined],
      [1_000, "chunked"],
      [1_001, "chunked"],
    ])("reads %i spans whole, whether or not they fill a page", async (count, encoding) => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await test.pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
         SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', now() FROM generate_series(1, $3::int) n`,
        [account.id, id, count],
      );
      const answer = await account.get(`/api/v1/traces/${id}`).expect(200);
      expect(answer.body.spans).toHaveLength(count);
      expect(answer.headers["transfer-encoding"]).toBe(encoding);
    });

    it.each(readdirSync(fixtures).filter((name) => name.endsWith(".traces.ndjson")))(
      "reads back the recorded traces of %s as they were sent",
      async (file) => {
        const account = await test.makeAccount("pro");
        const lines = readFileSync(new URL(file, fixtures), "utf8").trim().split("\n");
        for (const line of lines) await expectRoundTrip(account, JSON.parse(line));
      },
    );
  });

  describe("a large trace", () => {
    it("is large by its metadata too", async () => {
      const account = await test.makeAccount("pro");
      const metadata = { letters: "x".repeat(3_000_000) };
      const id = await account.makeTrace({ metadata });
      const answer = await account.get(`/api/v1/traces/${id}`).expect(200);
      expect(answer.headers["transfer-encoding"]).toBe("chunked");
      expect(answer.body).toMatchObject({ metadata, spans: [] });
    });

    it("is read apart: nobody's small trace shares a statement with it or waits for it", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const [large, small] = [await account.makeTrace(), await other.makeTrace()];
      await addLetters(account, large, 3, 1_000_000);
      const order: string[] = [];
      const reads = Array.from({ length: 12 }, async () => {
        const answer = await account.get(`/api/v1/traces/${large}`);
        order.push("large");
        return answer.status;
      });
      const smallReads = Array.from({ length: 12 }, async () => {
        const answer = await other.get(`/api/v1/traces/${small}`);
        order.push("small");
        return answer.status;
      });
      expect(new Set(await Promise.all([...reads, ...smallReads]))).toEqual(new Set([200]));
      expect(order.slice(0, 12)).toEqual(Array(12).fill("small"));
    });

    it("refuses one account's answers above 32 that are under way, and answers another's", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const [id, otherId] = [await account.makeTrace(), await other.makeTrace()];
      await addLetters(account, id, 3, 1_000_000);
      await addLetters(other, otherId, 3, 1_000_000);
      const readTrace = makeReader();
      const open = async (accountId: string, traceId: string) => {
        const chunks = await readTrace({ accountId, traceId, parts: [] });
        if (typeof chunks !== "object") throw new Error("it comes in chunks");
        const iterator = chunks[Symbol.asyncIterator]();
        const first = await iterator.next();
        expect(first.done).toBe(false);
        return iterator;
      };
      // A chunk of a megabyte counts against 16 MiB of the account while it is not taken.
      const held = [];
      for (let n = 0; n < 16; n++) held.push(await open(account.id, id));
      const waiting = Array.from({ length: 16 }, () => open(account.id, id));
      await expect(open(account.id, id)).rejects.toMatchObject({
        status: 429,
        body: { reason: "At most 32 answers with large traces may be under way of one account" },
      });
      await (await open(other.id, otherId)).return?.(undefined);
      for (const each of held) await each.return?.(undefined);
      for (const each of await Promise.all(waiting)) await each.return?.(undefined);
      await (await open(account.id, id)).return?.(undefined);
    });

    it("that is deleted between its chunks is never answered as a whole: 404 before the first, a cut answer later", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await addLetters(account, id, 60, 1_000_000);
      const readTrace = makeReader();
      const chunks = await readTrace({ accountId: account.id, traceId: id, parts: [] });
      const server = createServer(test.app);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/traces/${id}`, {
        headers: { Authorization: `Bearer ${account.key}` },
      });
      expect(answer.status).toBe(200);
      await account.delete(`/api/v1/traces/${id}`).expect(200);
      await expect(answer.text()).rejects.toThrow();
      server.close();
      if (typeof chunks !== "object") throw new Error("it comes in chunks");
      await expect(chunks[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 404 });
    });
  });

  describe("404", () => {
    it.each(["unknown", "00000000-0000-7000-8000-000000000000", "..%2f..%2fetc", "%00"])(
      "answers it for %s",
      async (id) => {
        const account = await test.makeAccount("free");
        const answer = await account.get(`/api/v1/traces/${id}`).expect(404);
        expect(answer.body).toEqual({ error: "Trace not found" });
      },
    );

    it("answers it for another account's trace", async () => {
      const [owner, other] = [await test.makeAccount("free"), await test.makeAccount("pro")];
      const id = await owner.makeTrace();
      await other.get(`/api/v1/traces/${id}`).expect(404, { error: "Trace not found" });
      await owner.get(`/api/v1/traces/${id}`).expect(200);
    });
  });
});

/** Sends a trace as an agent does, and compares the answer with it. */
async function expectRoundTrip(account: TestAccount, run: Run): Promise<void> {
  const id = await account.makeTrace(run.trace);
  const spanIds: string[] = [];
  const expected = [];
  for (const { parent, ...span } of run.spans) {
    const body = { ...span, parent_span_id: parent === null ? null : spanIds[parent] };
    const answer = await account.post(`/api/v1/traces/${id}/spans`, body).expect(201);
    spanIds.push(answer.body.span_id);
    expected.push({ ...body, id: answer.body.span_id, started_at: utc(span.started_at), ended_at: utc(span.ended_at) });
  }
  await account.patch(`/api/v1/traces/${id}`, run.final).expect(200);
  const { body } = await account.get(`/api/v1/traces/${id}`).expect(200);
  expect(body).toEqual({
    ...run.trace,
    id,
    status: run.final.status,
    started_at: utc(run.trace.started_at),
    ended_at: utc(run.final.ended_at),
    spans: expected,
  });
}

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { Registry } from "prom-client";
import { spanBody, useApp } from "../app.fixture.js";
import { createGroupCommitFactory } from "../batching/group-commit.js";
import { createTraceCapacity, maxSpansPerTrace } from "./trace-capacity.js";

describe("the spans of a trace", () => {
  const test = useApp();

  /** Puts spans into a trace as another instance would. */
  const fill = (accountId: string, traceId: string, spans: number) =>
    test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT $1, $2, gen_random_uuid(), 's', 'ok', now() FROM generate_series(1, $3::int)`,
      [accountId, traceId, spans],
    );
  const makeCapacity = (max: number) =>
    createTraceCapacity({ pool: test.pool, createGroupCommit: createGroupCommitFactory(new Registry()) }, max);

  it("are 100,000 at most: 413 with the limit for one more and for a batch, whose key stays free", async () => {
    const account = await test.makeAccount("pro");
    const other = await test.startInstance();
    const traceId = await account.makeTrace();
    await fill(account.id, traceId, maxSpansPerTrace - 2);
    const there = other(account);
    const path = `/api/v1/traces/${traceId}/spans`;
    const full = { error: "Trace has too many spans", limit: 100_000 };
    const two = { spans: [spanBody(), spanBody()] };
    const three = { spans: [spanBody(), spanBody(), spanBody()] };
    await there.post(`${path}/batch`, three).set("Idempotency-Key", "k").expect(413, full);
    const { body } = await there.post(`${path}/batch`, two).set("Idempotency-Key", "k").expect(201);
    await there.post(path, spanBody()).expect(413, full);
    await there
      .post(`${path.toUpperCase().replace("/API/V1/TRACES", "/api/v1/traces").replace("SPANS", "spans")}`, spanBody())
      .expect(413, full);
    const again = await there.post(`${path}/batch`, two).set("Idempotency-Key", "k").expect(201, body);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    await there.post(`${path}/batch`, three).set("Idempotency-Key", "k").expect(422);
    const { rows } = await test.pool.query("SELECT count(*)::int AS spans FROM span WHERE trace_id = $1", [traceId]);
    expect(rows).toEqual([{ spans: maxSpansPerTrace }]);
  });

  it("are counted in the database when a trace is first seen, and again after 1,000 near the limit", async () => {
    const [account, trace] = [randomUUID(), randomUUID()];
    const capacity = makeCapacity(3_000);
    await fill(account, trace, 500);
    expect(await capacity.take(account, trace, 1)).toBe(true);
    // Another instance fills the trace: this one learns of it with the next count.
    await fill(account, trace, 2_500);
    for (let n = 0; n < 999; n++) expect(capacity.take(account, trace, 1)).toBe(true);
    const last = capacity.take(account, trace.toUpperCase(), 1);
    expect(last).toBeInstanceOf(Promise);
    expect(await last).toBe(false);
    // A refused request causes no count.
    expect(capacity.take(account, trace, 1)).toBe(false);
  });

  it("are let in up to the last one, of many at once and whoever else is full", async () => {
    const [account, trace] = [randomUUID(), randomUUID()];
    const capacity = makeCapacity(50);
    capacity.created(account, trace);
    const taken = await Promise.all(Array.from({ length: 60 }, () => capacity.take(account, trace, 1)));
    expect(taken).toEqual([...Array(50).fill(true), ...Array(10).fill(false)]);
    expect(await capacity.take(account, randomUUID(), 50)).toBe(true);
    expect(await capacity.take(randomUUID(), trace, 50)).toBe(true);
  });
});

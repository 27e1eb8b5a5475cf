import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { withTransaction } from "@waymark/database";
import { useTraces } from "../traces.fixture.js";
import { clearFailures, groupFailures, otherError } from "./group-failures.js";
import { type FailuresToList, listFailures, readTraceFailures } from "./list-failures.query.js";

const { pool, makeAccount } = useTraces();

const june = { from: "2026-06-01T00:00:00Z", to: "2026-07-01T00:00:00Z", limit: 200 };

interface Failed {
  status?: string;
  agent?: string;
  startedAt?: string;
  endedAt?: string | null;
}

async function addTrace(accountId: string, { status = "error", agent = "a", startedAt, endedAt }: Failed = {}) {
  const id = randomUUID();
  const start = startedAt ?? "2026-06-02T10:00:00Z";
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at) VALUES ($1, $2, $3, 'n', $4, $5, $6)`,
    [accountId, id, agent, status, start, endedAt === undefined ? start : endedAt],
  );
  return id;
}

async function addSpan(accountId: string, traceId: string, name: string, error: string | null = null) {
  const id = randomUUID();
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error) VALUES ($1, $2, $3, $4, 'error', '2026-06-02', $5)`,
    [accountId, traceId, id, name, error],
  );
  return id;
}

const list = (accountId: string, changes: Partial<FailuresToList> = {}) =>
  listFailures(pool, { accountId, ...june, ...changes });

async function kindsOf(accountId: string) {
  const { failures } = await list(accountId);
  return failures.map(({ span_name, error, count }) => [span_name, error, count]);
}

describe("the groups of failed traces", () => {
  it("have agent, innermost failing span, and its error without particulars", async () => {
    const accountId = await makeAccount();
    for (const order of [7, 1042]) {
      const traceId = await addTrace(accountId);
      await addSpan(accountId, traceId, "get_order", `Order ${order} of "Ada" not found`);
    }
    const other = await addTrace(accountId, { agent: "b", status: "timeout" });
    await addSpan(accountId, other, "get_order", `Order 8 of "Ada" not found`);
    await addTrace(accountId, { agent: "b" });
    await addTrace(accountId, { status: "success" });
    const { failures } = await list(accountId);
    expect(failures).toMatchObject([
      { agent_id: "a", span_name: "get_order", error: 'Order N of "…" not found', count: 2 },
      { agent_id: "b", count: 1 },
      { agent_id: "b", count: 1 },
    ]);
    expect(failures.map(({ span_name }) => span_name)).toContain(null);
    for (const { id } of failures) expect(id).toMatch(/^.{14}8.{4}[89ab]/);
    expect((await list(await makeAccount())).failures).toEqual([]);
  });

  it("are one for names of spans with other ids, and several for other statuses of HTTP", async () => {
    const accountId = await makeAccount();
    for (const n of [1, 2, 3, 4]) {
      const traceId = await addTrace(accountId);
      await addSpan(
        accountId,
        traceId,
        `fetch order #${n} (${randomUUID()})`,
        `HTTP ${n === 4 ? 400 : 503} for "${n}"`,
      );
    }
    expect(await kindsOf(accountId)).toEqual([
      ["fetch order #N (ID)", 'HTTP 503 for "…"', 3],
      ["fetch order #N (ID)", 'HTTP 400 for "…"', 1],
    ]);
  });

  it("keep the ids of earlier releases, and so their mutes, where no name or code of theirs reads otherwise", async () => {
    const accountId = "0190a000-0000-7000-8000-00000000f5f5";
    await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'f5@example.com', 'pro')", [accountId]);
    await addSpan(accountId, await addTrace(accountId), "get_order", `Order 7 of "Ada" not found`);
    const { failures } = await list(accountId);
    expect(failures.map(({ id }) => id)).toEqual(["20c5c03e-1133-8b4a-b671-da6d0aef6e99"]);
  });

  it("let other work go on between few of their traces", async () => {
    const accountId = await makeAccount();
    const traces: string[] = [];
    for (let n = 0; n < 60; n++) {
      traces.push(await addTrace(accountId));
      await addSpan(accountId, traces[n] ?? "", `call ${n}`, "x".repeat(100));
    }
    const turns: number[] = [];
    const groups = groupFailures(
      pool,
      traces.map((traceId) => ({ accountId, traceId })),
    );
    let isOver = false;
    void groups.finally(() => {
      isOver = true;
    });
    while (!isOver) turns.push(await new Promise((resolve) => setImmediate(() => resolve(1))));
    expect(turns.length).toBeGreaterThan(6);
  });

  it("are refused for a range with more failed traces than can be counted", async () => {
    const accountId = await makeAccount();
    for (let n = 0; n < 3; n++) await addTrace(accountId);
    expect((await listFailures(pool, { accountId, ...june }, 3)).failures).toMatchObject([{ count: 3 }]);
    await expect(listFailures(pool, { accountId, ...june }, 2)).rejects.toMatchObject({
      details: { fields: { from: `Must be later: more than 2 traces failed from ${june.from} up to ${june.to}` } },
    });
  });

  it("follow a span that comes after the end, and a change of status", async () => {
    const accountId = await makeAccount();
    const traceId = await addTrace(accountId);
    expect(await kindsOf(accountId)).toEqual([[null, null, 1]]);
    await addSpan(accountId, traceId, "late");
    await clearFailures(pool, [{ accountId, traceId }]);
    expect(await kindsOf(accountId)).toEqual([["late", null, 1]]);
    const set = "UPDATE trace SET status = $2, agent_id = $3, written_at = now() WHERE id = $1";
    await pool.query(set, [traceId, "success", "a"]);
    expect(await kindsOf(accountId)).toEqual([]);
    await pool.query(set, [traceId, "timeout", "renamed"]);
    expect((await list(accountId)).failures).toMatchObject([{ agent_id: "renamed", span_name: "late" }]);
  });

  it("hold a span that was committed while they were worked out", async () => {
    const accountId = await makeAccount();
    const traceId = await addTrace(accountId);
    let cleared: Promise<void> | undefined;
    await withTransaction(pool, async (client) => {
      // As a reader does that began before the span.
      await client.query(
        "INSERT INTO trace_failure SELECT account_id, id, gen_random_uuid(), written_at FROM trace WHERE id = $1",
        [traceId],
      );
      await addSpan(accountId, traceId, "late");
      cleared = clearFailures(pool, [{ accountId, traceId }]);
      const sql = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      while (!(await pool.query(sql)).rowCount);
    });
    await cleared;
    expect(await kindsOf(accountId)).toEqual([["late", null, 1]]);
  });

  it("are bounded: further kinds of an agent count as one", async () => {
    const accountId = await makeAccount();
    const traces: string[] = [];
    for (const name of ["one", "two", "three", "one", "four"]) {
      const traceId = await addTrace(accountId);
      await addSpan(accountId, traceId, name, otherError);
      traces.push(traceId);
      await groupFailures(pool, [{ accountId, traceId }], 2);
    }
    const kinds = (await kindsOf(accountId)).sort();
    expect(kinds).toEqual([
      [null, otherError, 2],
      ["one", otherError, 2],
      ["two", otherError, 1],
    ]);
  });
});

describe("readTraceFailures", () => {
  it("gives the failure of each failed trace of the account", async () => {
    const [accountId, other] = [await makeAccount(), await makeAccount()];
    const traces = [await addTrace(accountId), await addTrace(accountId, { agent: "b" })];
    const success = await addTrace(accountId, { status: "success" });
    const foreign = await addTrace(other);
    await addSpan(accountId, traces[1] ?? "", "call", "HTTP 500");
    const [first] = (await list(accountId, { agentId: "a" })).failures;
    await pool.query("INSERT INTO mute (account_id, failure_id) VALUES ($1, $2)", [accountId, first?.id]);
    const read = await readTraceFailures(pool, accountId, [...traces, success, foreign, randomUUID()]);
    expect(read.toSorted((a, b) => (a.agentId < b.agentId ? -1 : 1))).toEqual([
      { traceId: traces[0], id: first?.id, agentId: "a", spanName: null, error: null, isMuted: true },
      { traceId: traces[1], id: expect.any(String), agentId: "b", spanName: "call", error: "HTTP 500", isMuted: false },
    ]);
  });
});

describe("listFailures", () => {
  it("names first and last end and the newest trace, of the range and agent", async () => {
    const accountId = await makeAccount();
    await addTrace(accountId, { startedAt: "2026-05-31T23:59:59Z" });
    await addTrace(accountId, { startedAt: "2026-06-03T00:00:00Z", endedAt: null });
    const newest = await addTrace(accountId, {
      startedAt: "2026-06-01T00:00:00Z",
      endedAt: "2026-06-09T00:00:00.123456Z",
    });
    await addTrace(accountId, { startedAt: "2026-07-01T00:00:00Z" });
    await addTrace(accountId, { agent: "b" });
    const { failures, next_cursor } = await list(accountId, { agentId: "a" });
    expect(next_cursor).toBeNull();
    expect(failures).toEqual([
      {
        id: expect.any(String),
        agent_id: "a",
        span_name: null,
        error: null,
        count: 2,
        first_at: "2026-06-03T00:00:00.000Z",
        last_at: "2026-06-09T00:00:00.123456Z",
        trace_id: newest,
        muted_until: null,
      },
    ]);
  });

  it("goes on after a page, through groups of one count", async () => {
    const accountId = await makeAccount();
    for (const agent of ["a", "b", "b", "c", "d"]) await addTrace(accountId, { agent });
    const agents: string[] = [];
    let after: FailuresToList["after"];
    for (let isLast = false; !isLast; ) {
      const page = await list(accountId, { limit: 1, after });
      const [failure] = page.failures;
      agents.push(failure?.agent_id ?? "");
      after = failure && { count: failure.count, id: failure.id };
      isLast = page.next_cursor === null;
    }
    expect(agents[0]).toBe("b");
    expect(agents.toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  it("says until when a group is muted", async () => {
    const accountId = await makeAccount();
    for (const agent of ["past", "future", "good"]) await addTrace(accountId, { agent });
    const idOf = new Map((await list(accountId)).failures.map(({ agent_id, id }) => [agent_id, id]));
    for (const [agent, until] of [
      ["past", "2020-01-01T00:00:00Z"],
      ["future", "2999-01-01T00:00:00Z"],
      ["good", null],
    ]) {
      const values = [accountId, idOf.get(agent ?? ""), until];
      await pool.query("INSERT INTO mute (account_id, failure_id, until) VALUES ($1, $2, $3)", values);
    }
    const muted = (await list(accountId)).failures.map(({ agent_id, muted_until }) => [agent_id, muted_until]);
    expect(Object.fromEntries(muted)).toEqual({
      past: null,
      future: "2999-01-01T00:00:00.000Z",
      good: "9999-12-31T23:59:59.999Z",
    });
  });
});

import { describe, expect, it } from "@jest/globals";
import { cursorBefore, listTraces, listTracesStatement, newestCursor, type TracesToFind } from "./list-traces.query.js";
import { useTraces } from "./traces.fixture.js";

describe("listing traces", () => {
  const { pool, makeAccount, insertTraces, insertTrace } = useTraces();

  /** Reads a list to its end; returns the ids and the number of pages. */
  async function listAll(query: Omit<TracesToFind, "after">, { from = newestCursor, maxMs = 60_000 } = {}) {
    const ids: string[] = [];
    let after = from;
    for (let pages = 1; pages < 1_000; pages++) {
      const page = await listTraces(pool, { ...query, after }, { maxMs });
      expect(page.traces.length).toBeLessThanOrEqual(query.limit);
      ids.push(...page.traces.map(({ id }) => id));
      if (page.next === null) return { ids, pages };
      after = page.next;
    }
    throw new Error("The list does not end");
  }

  async function explain(query: TracesToFind, reading = {}): Promise<string> {
    const { text, values } = listTracesStatement(query, reading);
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  }

  it("goes on from where a search ran out of time, and finds everything in the end", async () => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 300);
    const query = { accountId, name: "run 7", limit: 10 };
    const found = await listAll(query, { maxMs: 0 });
    expect(found.pages).toBeGreaterThan(20);
    expect(found.ids).toHaveLength(11);
    expect(found.ids).toEqual((await listAll(query)).ids);
  });

  it.each([
    ["all", {}, "Index Only Scan Backward"],
    ["by agent and status", { agentId: "agent", statuses: ["error"] as const }, "Index Only Scan Backward"],
    ["by name and duration", { name: "run", minDurationMs: 1 }, "Index Scan Backward"],
  ])("reads %s from the index in its order, and sorts no more than the page", async (_, filters, scan) => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 20_000);
    await pool.query("VACUUM ANALYZE trace");
    const plan = await explain({ accountId, after: newestCursor, limit: 50, ...filters });
    expect(plan).toContain(`${scan} using trace_listing_idx on trace`);
    expect(plan).toContain("Index Scan using trace_pkey");
    expect(plan).not.toMatch(/Seq Scan|Bitmap|Hash/);
  });

  it.each([
    ["trace_session_idx", 200, { session_id: "s 7" }, { agentId: "agent" }],
    ["trace_user_idx", 400, { user_id: "u 7", session_id: undefined }, { statuses: ["success"] as const }],
  ])("reads those of a conversation or user from %s in its order", async (index, count, labels, filters) => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 20_000);
    const sql = `UPDATE trace SET environment = 'production', session_id = 's ' || substr(name, 5)::int % 100,
      user_id = 'u ' || substr(name, 5)::int % 50 WHERE account_id = $1`;
    await pool.query(sql, [accountId]);
    await pool.query("VACUUM ANALYZE trace");
    const query = { accountId, after: newestCursor, limit: 50, labels, ...filters };
    expect(await explain(query)).toContain(`Index Only Scan Backward using ${index} on trace`);
    expect((await listAll({ ...query, limit: 7 })).ids).toHaveLength(count);
  });

  it.each([1_000, 1_001])("lists %i running traces, among others, as any other list", async (running) => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 3_000);
    await pool.query(
      "UPDATE trace SET status = 'running' WHERE account_id = $1 AND (substr(name, 5)::int * 7) % 3000 < $2",
      [accountId, running],
    );
    const { rows } = await pool.query<{ id: string }>(
      "SELECT id FROM trace WHERE account_id = $1 AND status = 'running' ORDER BY started_at DESC, id DESC",
      [accountId],
    );
    expect(rows).toHaveLength(running);
    expect((await listAll({ accountId, statuses: ["running"], limit: 200 })).ids).toEqual(rows.map(({ id }) => id));
    const part = { accountId, agentId: "agent", name: "RUN 1", limit: 50 };
    const from = cursorBefore("2026-06-01T12:09:00.000Z");
    const some = (await listAll({ ...part, statuses: ["running", "timeout"] }, { from })).ids;
    expect(some.length).toBeGreaterThan(100);
    expect((await listAll({ ...part, statuses: ["running"] }, { from })).ids).toEqual(some);
  });

  it("reads running traces from their own index", async () => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 20_000);
    await insertTrace(accountId);
    await pool.query("VACUUM ANALYZE trace");
    const query = { accountId, after: newestCursor, limit: 50, statuses: ["running"] as const };
    const plan = await explain(query, { isFromRunning: true });
    expect(plan).toContain("trace_running_idx");
    expect(plan).not.toMatch(/Seq Scan|listing/);
  });
});

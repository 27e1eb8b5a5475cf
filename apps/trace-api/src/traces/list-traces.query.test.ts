import { describe, expect, it } from "@jest/globals";
import { listTraces, listTracesStatement, newestPlace } from "@waymark/traces";
import { useApp } from "../app.fixture.js";
import { ids, insertTraces, listAll, minute } from "./list-traces.fixture.js";

describe("listing traces", () => {
  const test = useApp();

  it("goes on from where a search ran out of time, and finds everything in the end", async () => {
    const account = await test.makeAccount("pro");
    await insertTraces(test.pool, account, 300);
    const query = { accountId: account.id, name: "run 7", limit: 10 };
    const found: string[] = [];
    let after = newestPlace;
    for (let pages = 1; ; pages++) {
      const page = await listTraces(test.pool, { ...query, after }, { maxMs: 0 });
      expect(page.traces.length).toBeLessThanOrEqual(10);
      found.push(...ids(page.traces));
      if (page.last === null) {
        expect(pages).toBeGreaterThan(20);
        break;
      }
      after = page.last;
    }
    expect(found).toHaveLength(11);
    expect(found).toEqual(ids(await listAll(account, { name: "run 7" })));
  });

  it.each([
    ["all", {}, "Index Only Scan Backward"],
    ["by agent and status", { agentId: "agent", statuses: ["error"] as const }, "Index Only Scan Backward"],
    ["by name and duration", { name: "run", minDurationMs: 1 }, "Index Scan Backward"],
  ])("reads %s from the index in its order, and sorts no more than the page", async (_, filters, scan) => {
    const account = await test.makeAccount("pro");
    await insertTraces(test.pool, account, 20_000);
    await test.pool.query("VACUUM ANALYZE trace");
    const query = { accountId: account.id, after: newestPlace, limit: 50, ...filters };
    const { text, values } = listTracesStatement(query);
    const { rows } = await test.pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain(`${scan} using trace_listing_idx on trace`);
    expect(plan).toContain("Index Scan using trace_pkey");
    expect(plan).not.toMatch(/Seq Scan|Bitmap|Hash/);
  });

  it.each([1_000, 1_001])("lists %i that run, among others, as any other list", async (running) => {
    const account = await test.makeAccount("pro");
    await insertTraces(test.pool, account, 3_000);
    await test.pool.query(
      "UPDATE trace SET status = 'running' WHERE account_id = $1 AND (substr(name, 5)::int * 7) % 3000 < $2",
      [account.id, running],
    );
    const { rows } = await test.pool.query<{ id: string }>(
      "SELECT id FROM trace WHERE account_id = $1 AND status = 'running' ORDER BY started_at DESC, id DESC",
      [account.id],
    );
    expect(rows).toHaveLength(running);
    expect(ids(await listAll(account, { status: "running", limit: 200 }))).toEqual(ids(rows));
    const part = { status: "running", agent_id: "agent", name: "RUN 1", to: minute(9), limit: 50 };
    const some = (await listAll(account, { ...part, status: "running,timeout" })).map(({ id }) => id);
    expect(some.length).toBeGreaterThan(100);
    expect(ids(await listAll(account, part))).toEqual(some);
  });

  it("reads what runs from the index of what runs", async () => {
    const account = await test.makeAccount("pro");
    await insertTraces(test.pool, account, 20_000);
    await account.makeTrace();
    await test.pool.query("VACUUM ANALYZE trace");
    const query = { accountId: account.id, after: newestPlace, limit: 50, statuses: ["running"] as const };
    const { text, values } = listTracesStatement(query, { isFromRunning: true });
    const { rows } = await test.pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("trace_running_idx");
    expect(plan).not.toMatch(/Seq Scan|listing/);
  });
});

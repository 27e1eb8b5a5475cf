import { describe, expect, it } from "@jest/globals";
import { withTransaction } from "@waymark/database";
import { listTraces, newestCursor, type TracesToFind } from "../list-traces.query.js";
import { useTraces } from "../traces.fixture.js";
import { listAccountsToBlock, storeBlocks } from "./store-blocks.query.js";

/** Traces of the days before, a second apart: one in 500 is rare in everything. $3 is the time since they were written. */
const insertSql = `
  INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, environment, release, tags, session_id, written_at)
  SELECT $1, overlay(uuid_floor(now() - interval '1 day' + n * interval '1 second')::text placing '7' || substr(md5(n::text), 1, 3) from 15 for 4)::uuid,
    CASE WHEN n % 500 = 7 THEN 'rare' ELSE 'agent ' || n % 3 END, CASE WHEN n % 500 = 9 THEN 'Ünique Lawyer ' ELSE 'run ' END || n,
    CASE WHEN n % 500 = 8 THEN 'timeout' ELSE 'success' END, '2026-06-01T12:00:00Z'::timestamptz - n * interval '1 minute',
    '2026-06-01T12:00:01Z'::timestamptz - n * interval '1 minute' + CASE WHEN n % 500 = 6 THEN interval '1 hour' ELSE '0' END,
    CASE WHEN n % 500 = 5 THEN 'staging' WHEN n % 2 = 0 THEN 'production' END, 'v' || n / 1000, CASE WHEN n % 500 = 4 THEN '{seldom,often}' ELSE '{often}' END::text[],
    CASE WHEN n % 500 < 2 THEN 'chat ' || n / 1000 END,
    now() - $3::interval
  FROM generate_series(1, $2::int) n`;

const searches = [
  ["a name", { name: "lawyer" }],
  ["a name beyond ASCII", { name: "üNIQUE" }],
  ["an environment", { labels: { environment: "staging" } }],
  ["a release and a tag", { labels: { release: "v1", tags: "seldom" } }],
  ["a conversation", { labels: { session_id: "chat 2" } }],
  ["two letters", { name: "aw" }],
  ["an agent", { agentId: "rare" }],
  ["a status", { statuses: ["timeout"] }],
  ["statuses", { statuses: ["timeout", "error"] }],
  ["a duration", { minDurationMs: 3_601_000 }],
  ["a name and an agent", { name: "run", agentId: "rare" }],
  ["a range", { name: "lawyer", from: "2026-06-01T00:00:00Z" }],
] satisfies [string, Partial<TracesToFind>][];

describe("blocks of traces", () => {
  const { pool, makeAccount } = useTraces();
  const store = (accountId: string) => storeBlocks(pool, accountId, () => false);

  async function makeTraces(count: number, writtenAgo = "1 day"): Promise<string> {
    const accountId = await makeAccount();
    await pool.query(insertSql, [accountId, count, writtenAgo]);
    return accountId;
  }

  /** All pages; a scan without time leaves the search to the blocks. */
  async function search(accountId: string, filter: Partial<TracesToFind>, scanMs = 0): Promise<string[]> {
    const found: string[] = [];
    let after = newestCursor;
    while (true) {
      const page = await listTraces(pool, { accountId, limit: 3, after, ...filter }, { maxMs: 60_000, scanMs });
      found.push(...page.traces.map(({ name }) => name));
      if (page.next === null) return found;
      after = page.next;
    }
  }

  const count = async (table: string, accountId: string) =>
    (await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE account_id = $1`, [accountId]))
      .rows[0]?.n;

  async function isDue(accountId: string): Promise<boolean> {
    for await (const id of listAccountsToBlock(pool)) if (id === accountId) return true;
    return false;
  }

  it("hold all traces older than an hour but the last ones, once, whoever stores them", async () => {
    const accountId = await makeTraces(4_500);
    expect(await isDue(accountId)).toBe(true);
    await Promise.all([store(accountId), store(accountId), store(accountId)]);
    // Each may have found another at it and left the last block to the next round.
    await store(accountId);
    expect(await count("trace_block", accountId)).toBe(17);
    expect(await isDue(accountId)).toBe(false);
    expect(await store(accountId)).toBe(0);
  });

  it.each(searches)("find %s as a scan of the list does", async (_, filter) => {
    const accountId = await makeTraces(3_000);
    const scanned = await search(accountId, filter, 60_000);
    expect(scanned.length).toBeGreaterThan(0);
    expect(await search(accountId, filter)).toEqual(scanned);
    await store(accountId);
    expect(await search(accountId, filter)).toEqual(scanned);
  });

  it("keep a search from traces without its marks", async () => {
    const accountId = await makeTraces(3_000);
    await store(accountId);
    await pool.query("UPDATE trace_block SET marks = decode(repeat('00', 1536), 'hex') WHERE account_id = $1", [
      accountId,
    ]);
    expect(await search(accountId, { name: "lawyer" })).toEqual([]);
  });

  it.each(["1 day", "1 minute"])("follow a trace written %s before its change", async (writtenAgo) => {
    const accountId = await makeTraces(600, writtenAgo);
    const change = (set: string) =>
      pool.query(
        `UPDATE trace SET ${set} WHERE account_id = $1 AND id = (
           SELECT id FROM trace WHERE account_id = $1 ORDER BY id LIMIT 1)`,
        [accountId],
      );
    await store(accountId);
    await change("name = 'a new name', agent_id = 'a new agent', written_at = now()");
    for (const filter of [{ name: "new name" }, { agentId: "a new agent" }])
      expect(await search(accountId, filter)).toEqual(["a new name"]);
    await store(accountId);
    expect(await count("trace_change", accountId)).toBeGreaterThan(0);
    await pool.query("UPDATE trace SET written_at = now() - interval '2 hours' WHERE account_id = $1", [accountId]);
    await store(accountId);
    expect(await count("trace_change", accountId)).toBe(0);
    expect(await search(accountId, { name: "new name", agentId: "a new agent" })).toEqual(["a new name"]);
  });

  it("give a changed trace once, also the last of a block", async () => {
    const accountId = await makeTraces(600);
    await store(accountId);
    await pool.query(
      `UPDATE trace SET name = 'Last Lawyer' WHERE account_id = $1 AND id = (
         SELECT last_id FROM trace_block WHERE account_id = $1 ORDER BY last_id LIMIT 1)`,
      [accountId],
    );
    expect((await search(accountId, { name: "lawyer" })).sort()).toEqual([
      "Last Lawyer",
      "Ünique Lawyer 509",
      "Ünique Lawyer 9",
    ]);
  });

  it("miss no change that commits after they are stored", async () => {
    const accountId = await makeTraces(600);
    const set = (status: string) => `UPDATE trace SET status = '${status}' WHERE account_id = $1 AND name = 'run 300'`;
    await withTransaction(pool, async (client) => {
      await client.query(set("error"), [accountId]);
      await store(accountId);
    });
    expect(await search(accountId, { statuses: ["error"] })).toEqual(["run 300"]);
    await withTransaction(pool, async (client) => {
      await client.query(set("running"), [accountId]);
      await store(accountId);
    });
    await store(accountId);
    expect(await count("trace_change", accountId)).toBe(0);
    expect(await search(accountId, { statuses: ["running", "error"] })).toEqual(["run 300"]);
  });
});

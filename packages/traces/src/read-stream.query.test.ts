import { describe, expect, it } from "@jest/globals";
import { listTraces, newestCursor } from "./list-traces.query.js";
import { traceFilter, traceFilterSchema, tracesToFind } from "./list-traces.schema.js";
import { readStream, readStreamStatement, type StreamPosition } from "./read-stream.query.js";
import { useTraces } from "./traces.fixture.js";

describe("the stream of an account", () => {
  const { pool, makeAccount, insertTrace, insertTraces } = useTraces();

  async function readAll(accountId: string, from: StreamPosition) {
    const pages = [];
    for (let position = from; ; ) {
      const { pages: read } = await readStream(pool, [{ accountId, position }]);
      if (!read[0]) throw new Error("No page");
      pages.push(read[0]);
      if (read[0].isLast) return pages;
      position = read[0].next;
    }
  }
  const present = async (): Promise<StreamPosition> => ({ base: (await readStream(pool, [])).now });

  it("has every trace once in pages, also those committed while it is read", async () => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 10);
    const start = await present();
    const late = await pool.connect();
    const insert = `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
      VALUES ($1, gen_random_uuid(), 'agent', 'late', 'running', now())`;
    await late.query("BEGIN");
    await late.query(insert, [accountId]);
    await insertTraces(accountId, 1_200);
    const { pages } = await readStream(pool, [{ accountId, position: start }]);
    const first = pages[0];
    if (!first) throw new Error("No page");
    // Its transaction began before all others.
    await late.query("COMMIT");
    late.release();
    const rest = await readAll(accountId, first.next);
    const rows = [first, ...rest].flatMap((page) => page.rows);
    expect(rows.filter(({ name }) => name === "late")).toHaveLength(1);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1_201);
    expect(rows).toHaveLength(1_201);
  });

  it("goes on after any row of a page", async () => {
    const accountId = await makeAccount();
    const base = (await present()).base;
    const id = await insertTrace(accountId);
    const other = await insertTrace(accountId);
    const [page] = await readAll(accountId, { base });
    const row = page?.rows[0];
    if (!page || !row) throw new Error("No row");
    expect(page.rows.map((each) => each.id)).toEqual([id, other]);
    const changed = "UPDATE trace SET status = 'error', status_txid = txid_current() WHERE id = $1";
    await pool.query(changed, [id]);
    const rest = await readAll(accountId, { base, rest: { top: page.top, txid: row.txid, id: row.id } });
    expect(rest.flatMap(({ rows }) => rows.map((each) => [each.id, each.status]))).toEqual([
      [other, "running"],
      [id, "error"],
    ]);
  });

  it("keeps accounts apart, and leaves out what another server's transactions wrote", async () => {
    const [own, foreign] = [await makeAccount(), await makeAccount()];
    const position = await present();
    await insertTrace(foreign);
    const restored = await insertTrace(own);
    await pool.query("UPDATE trace SET status_txid = 1::bigint << 60 WHERE id = $1", [restored]);
    const old = await insertTrace(own);
    await pool.query("UPDATE trace SET written_at = now() - interval '26 hours' WHERE id = $1", [old]);
    expect((await readAll(own, position)).flatMap(({ rows }) => rows)).toEqual([]);
    expect((await readAll(foreign, position)).flatMap(({ rows }) => rows)).toHaveLength(1);
  });

  it("reads the index in its order", async () => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 20_000);
    await pool.query("VACUUM ANALYZE trace");
    const { text } = readStreamStatement([]);
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("Index Scan using trace_stream_idx on trace");
    expect(plan).not.toMatch(/Bitmap|Seq Scan/);
  });

  it.each([
    [{ agent_id: "agent" }],
    [{ agent_id: "other" }],
    [{ status: "running,error" }],
    [{ status: "success" }],
    [{ name: "RUN 1" }],
    [{ name: "ärger" }],
    [{ name: "ÄRGER (50%)" }],
    [{ name: "k" }],
    [{ from: "2026-06-01T12:00:01Z" }],
    [{ from: "2026-06-01T12:00:00.5Z", to: "2026-06-01T12:00:01.0001Z" }],
    [{ min_duration_ms: "1000" }],
    [{ min_duration_ms: "1001", name: "run", status: "success,running" }],
  ])("filters by %j as the list does", async (query) => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 12);
    await pool.query(
      "UPDATE trace SET ended_at = started_at + interval '1.001 s' WHERE account_id = $1 AND name = 'run 3'",
      [accountId],
    );
    await pool.query(
      "UPDATE trace SET ended_at = started_at + interval '1.0005 s' WHERE account_id = $1 AND name = 'run 4'",
      [accountId],
    );
    for (const name of ["Ärger (50%) [ok]", "\u212Aelvin", "a.b"]) {
      await pool.query("UPDATE trace SET name = $2, started_at = $3 WHERE id = $1", [
        await insertTrace(accountId),
        name,
        "2026-06-01T12:00:00.500001Z",
      ]);
    }
    const filter = traceFilterSchema.parse(query);
    const listed = await listTraces(pool, { ...tracesToFind(accountId, { ...filter, limit: 200 }) });
    const all = await listTraces(pool, { accountId, after: newestCursor, limit: 200 });
    const ids = (traces: readonly { id: string }[]) => traces.map(({ id }) => id).sort();
    expect(ids(all.traces.filter(traceFilter(filter) ?? (() => true)))).toEqual(ids(listed.traces));
  });
});

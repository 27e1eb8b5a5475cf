import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { readChanges, readChangesStatement } from "./read-changes.query.js";
import { readNotes } from "./read-notes.query.js";
import { useTraces } from "./traces.fixture.js";

const { pool, makeAccount, insertTraces } = useTraces();
const uuid = createUuidV7();
const longAgo = createUuidV7(() => Date.now() - 3_600_000);

async function makeTrace(accountId: string, { id = uuid(), status = "running" } = {}): Promise<string> {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, written_at)
     VALUES ($1, $2, 'agent', 'a trace', $3, now(), now() - interval '1 hour')`,
    [accountId, id, status],
  );
  return id;
}

const fail = (id: string) =>
  pool.query("UPDATE trace SET status = 'error', ended_at = now(), written_at = now() WHERE id = $1", [id]);

describe("readChanges", () => {
  it("has traces above an id, newest first, without those that the reader names", async () => {
    const accountId = await makeAccount();
    await makeTrace(await makeAccount());
    const known = await makeTrace(accountId);
    const [late, later] = [await makeTrace(accountId), await makeTrace(accountId)];
    const { created, has_more } = await readChanges(pool, { accountId, after: known, ids: [known] });
    expect([created.map(({ id }) => id), has_more]).toEqual([[later, late], false]);
  });

  it("has a trace that became visible after a newer one", async () => {
    const accountId = await makeAccount();
    const [late, newest] = [uuid(), uuid()];
    await makeTrace(accountId, { id: newest });
    await makeTrace(accountId, { id: late });
    const { created } = await readChanges(pool, { accountId, after: newest, ids: [newest] });
    expect(created.map(({ id }) => id)).toEqual([late]);
  });

  it("says where more were created than it lists", async () => {
    const accountId = await makeAccount();
    const after = await makeTrace(accountId, { id: longAgo() });
    for (let n = 0; n < 102; n++) await makeTrace(accountId);
    const { created, has_more } = await readChanges(pool, { accountId, after, ids: [] });
    expect([created.length, has_more]).toEqual([100, true]);
  });

  it("has all named traces at first, then those that changed since, then those with a mail that went out", async () => {
    const accountId = await makeAccount();
    const [first, second] = [await makeTrace(accountId), await makeTrace(accountId)];
    const ids = [first, second];
    const all = await readChanges(pool, { accountId, ids });
    expect(all.changed.map(({ id }) => id).sort()).toEqual(ids);
    expect(all.created).toEqual([]);
    expect((await readChanges(pool, { accountId, ids, since: all.at })).changed).toEqual([]);
    await fail(second);
    const after = await readChanges(pool, { accountId, ids, since: all.at });
    expect(after.changed).toMatchObject([{ id: second, status: "error" }]);
    const alert = "INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $3, 'error', now())";
    await pool.query(alert, [accountId, uuid(), first]);
    const mailed = await readChanges(pool, { accountId, ids, since: all.at });
    expect(mailed.changed.map(({ id }) => id).sort()).toEqual(ids);
  });

  it("names traces that are gone, another account's among them", async () => {
    const [accountId, other] = [await makeAccount(), await makeAccount()];
    const foreign = await makeTrace(other);
    const missing = uuid();
    const { gone, changed } = await readChanges(pool, { accountId, ids: [foreign, missing] });
    expect([gone.sort(), changed]).toEqual([[foreign, missing].sort(), []]);
  });

  it("only probes primary keys", async () => {
    const accountId = await makeAccount();
    await insertTraces(accountId, 20_000);
    await pool.query("VACUUM ANALYZE trace");
    const { rows: some } = await pool.query<{ id: string }>("SELECT id FROM trace WHERE account_id = $1 LIMIT 100", [
      accountId,
    ]);
    const ids = some.map(({ id }) => id);
    const { text, values } = readChangesStatement({ accountId, after: uuid(), ids, since: new Date().toISOString() });
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/Index Scan Backward using trace_pkey.*Index Scan using trace_pkey/s);
    expect(plan).toContain("using alert_trace_idx");
    expect(plan).not.toMatch(/Seq Scan|Bitmap|Hash/);
  });
});

describe("readNotes", () => {
  const span = (accountId: string, traceId: string, fields: Record<string, string | null>) => {
    const { id = uuid(), parent = null, error = null, ended = "2026-06-01T12:00:01Z", status = "error" } = fields;
    return pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, error, parent_span_id)
       VALUES ($1, $2, $3, 'call', $4, '2026-06-01T12:00:00Z', $5, $6, $7)`,
      [accountId, traceId, id, status, ended, error, parent],
    );
  };

  it("has the beginning of the innermost failing span's error, of failed traces only", async () => {
    const accountId = await makeAccount();
    const [failed, timedOut, running] = await Promise.all(
      ["error", "timeout", "running"].map((status) => makeTrace(accountId, { status })),
    );
    if (!failed || !timedOut || !running) throw new Error("No traces");
    const outer = uuid();
    await span(accountId, failed, { id: outer, error: "step failed", ended: "2026-06-01T12:00:09Z" });
    await span(accountId, failed, { parent: outer.toUpperCase(), error: `cause${".".repeat(2_000)}` });
    await span(accountId, timedOut, {});
    await span(accountId, running, { error: "not shown" });
    const notes = await readNotes(pool, accountId, [failed, timedOut, running]);
    expect(new Map(notes.map(({ id, error }) => [id, error]))).toEqual(
      new Map([
        [failed, `cause${".".repeat(295)}`],
        [timedOut, "call"],
        [running, null],
      ]),
    );
    const late = await readNotes(pool, accountId, [failed], -1);
    expect(late).toEqual([{ id: failed, error: null, is_mailed: false }]);
  });

  it("says whether a mail went out, and nothing of another account", async () => {
    const [accountId, other] = [await makeAccount(), await makeAccount()];
    const [mailed, owed] = [await makeTrace(accountId), await makeTrace(accountId)];
    const alert = "INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $3, 'error', $4)";
    await pool.query(alert, [accountId, uuid(), mailed, new Date()]);
    await pool.query(alert, [accountId, uuid(), mailed, null]);
    await pool.query(alert, [accountId, uuid(), owed, null]);
    const notes = await readNotes(pool, accountId, [mailed, owed]);
    expect(notes.filter(({ is_mailed }) => is_mailed).map(({ id }) => id)).toEqual([mailed]);
    expect(await readNotes(pool, other, [mailed, owed])).toEqual([]);
    expect(await readNotes(pool, accountId, [])).toEqual([]);
  });
});

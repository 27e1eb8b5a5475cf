import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { cutBlocks, type MarkedBlock, type MarkedTrace, marksOf, maxBlockTraces } from "./marks.js";

/** Traces that a transaction reads at most. */
const maxTraces = 16 * maxBlockTraces;
const maxChanges = 200;

/** Traces from this age on come into blocks: transactions that create or change them ended long ago. */
const minAge = "interval '1 hour'";
const boundSql = `uuid_floor(now() - ${minAge})`;
const edgeSql = `COALESCE((SELECT last_id FROM trace_block WHERE account_id = a.id ORDER BY last_id DESC LIMIT 1), '${smallestUuid}')`;

/** Accounts after $1 in the order of their ids. Reads at most a block's entries of `trace_pkey` for each. */
const listSql = `
  SELECT a.id, EXISTS (SELECT FROM trace_change WHERE account_id = a.id) OR EXISTS (
    SELECT FROM trace WHERE account_id = a.id AND id > ${edgeSql} AND id < ${boundSql}
    ORDER BY id OFFSET ${maxBlockTraces - 1} LIMIT 1) AS "isDue"
  FROM (SELECT id FROM account WHERE id > $1 ORDER BY id LIMIT 500) a`;

/** Whether no other worker stores blocks of the account; until commit. */
const lockSql = "SELECT pg_try_advisory_xact_lock(hashtext('trace_block'), hashtext($1)) AS locked";

/**
 * Changes of traces that are quiet since. Read before the traces: a later change adds to `changes`, and so outlasts this round.
 */
const readChangesSql = `
  SELECT trace_id AS id, changes, b.last_id AS "lastId"
  FROM trace_change c LEFT JOIN LATERAL (
    SELECT last_id, after_id FROM trace_block WHERE account_id = $1 AND last_id >= c.trace_id ORDER BY last_id LIMIT 1
  ) b ON true
  WHERE account_id = $1 AND trace_id > $2 AND NOT EXISTS (
    SELECT FROM trace WHERE account_id = $1 AND id = c.trace_id AND written_at > now() - ${minAge})
  ORDER BY trace_id LIMIT ${maxChanges}`;

const edgeOfAccountSql = `SELECT ${edgeSql} AS id FROM (SELECT $1::uuid AS id) a`;
const readNewSql = `
  SELECT id, agent_id, name FROM trace WHERE account_id = $1 AND id > $2 AND id < ${boundSql} ORDER BY id LIMIT ${maxTraces}`;
const readBlockSql = `
  SELECT id, agent_id, name FROM trace WHERE account_id = $1 AND id <= $2
    AND id > (SELECT after_id FROM trace_block WHERE account_id = $1 AND last_id = $2) ORDER BY id`;

/**
 * Stores blocks with these last ids after the block that ends at $2. Traces written within the hour may be changing unseen by
 * `trace_change_noted`, so this notes them.
 */
const insertSql = `
  WITH new AS (
    SELECT last_id, lag(last_id, 1, $2::uuid) OVER (ORDER BY last_id) AS after_id, marks
    FROM unnest($3::uuid[], $4::bytea[]) AS b (last_id, marks)
  ), noted AS (
    INSERT INTO trace_change (account_id, trace_id)
    SELECT $1, id FROM trace WHERE account_id = $1 AND id > $2 AND id <= (SELECT last_id FROM new ORDER BY last_id DESC LIMIT 1)
      AND written_at > now() - ${minAge}
    ON CONFLICT DO NOTHING
  )
  INSERT INTO trace_block (account_id, last_id, after_id, marks, first_start, last_start, longest_ms, statuses)
  SELECT $1, b.last_id, b.after_id, b.marks, s.* FROM new b CROSS JOIN LATERAL (${summarySql("b.after_id", "b.last_id")}) s`;

const renewSql = `
  UPDATE trace_block b SET (marks, first_start, last_start, longest_ms, statuses) =
    (SELECT $3::bytea, s.* FROM (${summarySql("b.after_id", "b.last_id")}) s)
  WHERE account_id = $1 AND last_id = $2`;

function summarySql(after: string, last: string): string {
  return `SELECT min(started_at), max(started_at), max(extract(epoch FROM ended_at - started_at)::float8 * 1000),
    COALESCE(array_agg(DISTINCT status), '{}') FROM trace WHERE account_id = $1 AND id > ${after} AND id <= ${last}`;
}

/** Removes changes that a block now has, unless there was another meanwhile. */
const forgetSql = `
  DELETE FROM trace_change WHERE ctid = ANY (ARRAY(
    SELECT c.ctid FROM trace_change c JOIN unnest($2::uuid[], $3::int[]) AS r (id, changes)
      ON c.trace_id = r.id AND c.changes = r.changes
    WHERE c.account_id = $1 FOR UPDATE OF c SKIP LOCKED))`;

interface Change {
  id: string;
  changes: number;
  lastId: string | null;
}

/** Accounts with traces for a new block, or with changes. */
export async function* listAccountsToBlock(pool: pg.Pool): AsyncGenerator<string> {
  let after = smallestUuid;
  while (true) {
    const { rows } = await pool.query<{ id: string; isDue: boolean }>(listSql, [after]);
    for (const { id, isDue } of rows) if (isDue) yield id;
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}

/**
 * Renews an account's changed blocks and stores its new ones, some thousand traces per transaction. A stop or a kill loses
 * nothing: the next call goes on.
 * @returns the number of stored and renewed blocks
 */
export async function storeBlocks(pool: pg.Pool, accountId: string, isStopping: () => boolean): Promise<number> {
  let total = 0;
  let position: string | undefined = smallestUuid;
  while (position !== undefined && !isStopping()) {
    const from: string = position;
    const renewed = await inLock(pool, accountId, (client) => renewSome(client, accountId, from));
    total += renewed?.count ?? 0;
    position = renewed?.next;
  }
  let stored = 1;
  while (stored > 0 && !isStopping()) {
    stored = (await inLock(pool, accountId, (client) => insertSome(client, accountId))) ?? 0;
    total += stored;
  }
  return total;
}

/** @returns undefined while another worker is at it */
function inLock<Result>(pool: pg.Pool, accountId: string, work: (client: pg.ClientBase) => Promise<Result>) {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(lockSql, [accountId]);
    return rows[0]?.locked ? work(client) : undefined;
  });
}

async function renewSome(client: pg.ClientBase, accountId: string, from: string) {
  const { rows: changes } = await client.query<Change>(readChangesSql, [accountId, from]);
  const lastIds = new Set(changes.flatMap(({ lastId }) => lastId ?? []));
  for (const lastId of lastIds) {
    const { rows } = await client.query<MarkedTrace>(readBlockSql, [accountId, lastId]);
    await client.query(renewSql, [accountId, lastId, marksOf(rows)]);
  }
  const inBlocks = changes.filter(({ lastId }) => lastId !== null);
  const values = [accountId, inBlocks.map(({ id }) => id), inBlocks.map((change) => change.changes)];
  if (inBlocks.length > 0) await client.query(forgetSql, values);
  return { count: lastIds.size, next: changes.length === maxChanges ? changes.at(-1)?.id : undefined };
}

async function insertSome(client: pg.ClientBase, accountId: string): Promise<number> {
  const edge = (await client.query<{ id: string }>(edgeOfAccountSql, [accountId])).rows[0]?.id;
  const { rows } = await client.query<MarkedTrace>(readNewSql, [accountId, edge]);
  const blocks: MarkedBlock[] = cutBlocks(rows);
  if (blocks.length === 0) return 0;
  const values = [accountId, edge, blocks.map(({ lastId }) => lastId), blocks.map(({ marks }) => marks)];
  await client.query(insertSql, values);
  return blocks.length;
}

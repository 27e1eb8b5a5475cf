import { smallestUuid, withTransaction } from "@waymark/database";
import { inSteps } from "@waymark/service/http";
import type pg from "pg";
import { createFilter } from "../contents/grams.js";
import { readContents } from "../contents/read-contents.query.js";
import { textSeparator } from "../contents/search-terms.js";
import { cutBlocks, type MarkedBlock, type MarkedTrace, markedColumns, marksOf, maxBlockTraces } from "./marks.js";

/** Traces that a transaction reads at most. */
const maxTraces = 16 * maxBlockTraces;
const maxChanges = 200;
/** Filters of contents that a call stores at most: some two minutes of work. */
const maxFilters = 1_000;
/** A trace's row and its parts of indexes on disk. */
const traceBytes = 400;

/** Traces from this age on come into blocks: transactions that create or change them ended long ago. */
const minAge = "interval '1 hour'";
const boundSql = `uuid_floor(now() - ${minAge})`;
const edgeSql = `COALESCE((SELECT last_id FROM trace_block WHERE account_id = a.id ORDER BY last_id DESC LIMIT 1), '${smallestUuid}')`;

/** Accounts after $1 in the order of their ids. Reads at most a block's entries of `trace_pkey` for each. */
const listSql = `
  SELECT a.id, EXISTS (SELECT FROM trace_change WHERE account_id = a.id)
    OR EXISTS (SELECT FROM trace_block WHERE account_id = a.id AND contents IS NULL) OR EXISTS (
    SELECT FROM trace WHERE account_id = a.id AND id > ${edgeSql} AND id < ${boundSql}
    ORDER BY id OFFSET ${maxBlockTraces - 1} LIMIT 1) AS "isDue"
  FROM (SELECT id FROM account WHERE id > $1 ORDER BY id LIMIT 500) a`;

/** Whether no other worker stores blocks of the account; until commit. */
const lockSql = "SELECT pg_try_advisory_xact_lock(hashtext('trace_block'), hashtext($1)) AS locked";

/**
 * Changes of traces that are quiet since. Locked before the traces are read: whoever changes one meanwhile notes it once more,
 * and a note that a writer holds waits for the next round.
 */
const readChangesSql = `
  SELECT trace_id AS id, changes, b.last_id AS "lastId"
  FROM trace_change c LEFT JOIN LATERAL (
    SELECT last_id, after_id FROM trace_block WHERE account_id = $1 AND last_id >= c.trace_id ORDER BY last_id LIMIT 1
  ) b ON true
  WHERE account_id = $1 AND trace_id > $2 AND NOT EXISTS (
    SELECT FROM trace WHERE account_id = $1 AND id = c.trace_id AND written_at > now() - ${minAge})
  ORDER BY trace_id LIMIT ${maxChanges} FOR UPDATE OF c SKIP LOCKED`;

const edgeOfAccountSql = `SELECT ${edgeSql} AS id FROM (SELECT $1::uuid AS id) a`;
const readNewSql = `
  SELECT ${markedColumns} FROM trace WHERE account_id = $1 AND id > $2 AND id < ${boundSql} ORDER BY id LIMIT ${maxTraces}`;
const readBlockSql = `
  SELECT ${markedColumns} FROM trace WHERE account_id = $1 AND id <= $2
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
  UPDATE trace_block b SET (contents, marks, first_start, last_start, longest_ms, statuses) =
    (SELECT NULL::bytea, $3::bytea, s.* FROM (${summarySql("b.after_id", "b.last_id")}) s)
  WHERE account_id = $1 AND last_id = $2`;

function summarySql(after: string, last: string): string {
  return `SELECT min(started_at), max(started_at), max(extract(epoch FROM ended_at - started_at)::float8 * 1000),
    COALESCE(array_agg(DISTINCT status), '{}') FROM trace WHERE account_id = $1 AND id > ${after} AND id <= ${last}`;
}

const findBareSql = `
  SELECT last_id AS id FROM trace_block WHERE account_id = $1 AND contents IS NULL ORDER BY last_id DESC LIMIT 1`;
const fillSql = "UPDATE trace_block SET contents = $3 WHERE account_id = $1 AND last_id = $2";

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
 * Stores an account's new blocks and renews its changed ones, some thousand traces per transaction, then the filters of their
 * contents, one per transaction. A stop or a kill loses nothing: the next call goes on.
 * @returns the number of stored and renewed blocks
 */
export async function storeBlocks(pool: pg.Pool, accountId: string, isStopping: () => boolean): Promise<number> {
  let total = 0;
  for (let stored = 1; stored > 0 && !isStopping(); total += stored)
    stored = (await inLock(pool, accountId, (client) => insertSome(client, accountId))) ?? 0;
  // After the new blocks, so that changes of their traces cost no second filter.
  for (let from: string | undefined = smallestUuid; from !== undefined && !isStopping(); ) {
    const position: string = from;
    const renewed = await inLock(pool, accountId, (client) => renewSome(client, accountId, position));
    total += renewed?.count ?? 0;
    from = renewed?.next;
  }
  for (let filled = 0; filled < maxFilters && !isStopping(); filled++)
    if (!(await inLock(pool, accountId, (client) => fillOne(client, accountId)))) break;
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

/** Stores the newest missing filter. Contents that change after they are read are noted. */
async function fillOne(client: pg.ClientBase, accountId: string): Promise<boolean> {
  const lastId = (await client.query<{ id: string }>(findBareSql, [accountId])).rows[0]?.id;
  if (lastId === undefined) return false;
  const { rows: traces } = await client.query<MarkedTrace>(readBlockSql, [accountId, lastId]);
  const filter = createFilter();
  await inSteps(filter.add(traces.map(({ name }) => name).join(textSeparator), false));
  let diskBytes = traces.length * traceBytes;
  for await (const { texts, jsons, bytes } of readContents(client, {
    accountId,
    traceIds: traces.map(({ id }) => id),
  })) {
    await inSteps(filter.add(texts, false));
    await inSteps(filter.add(jsons, true));
    diskBytes += bytes;
  }
  await client.query(fillSql, [accountId, lastId, filter.bytes(diskBytes)]);
  return true;
}

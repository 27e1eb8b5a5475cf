import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { maxBlockTraces } from "./marks.js";

/** Some 100,000 traces: more matches, and the scan of the list is sooner at the end of its page. */
const maxBlocks = 400;
/** New traces, and changed ones, beside the blocks. More stand there only when no worker runs. */
const maxNew = 20_000;
const maxChanged = 2_000;

/** A condition on `trace_block` that holds for each block with a matching trace. */
export interface BlockCondition {
  /** Part of the prepared statement's name. */
  key: string;
  values: readonly unknown[];
  sql(parameters: readonly string[]): string;
}

export interface BlocksToFind {
  accountId: string;
  from: string;
  to: string;
  conditions: readonly BlockCondition[];
}

/** Where an account's matching traces are, each in one place. */
export interface TracePlaces {
  afterIds: string[];
  lastIds: string[];
  /** The last id of the last block: newer traces are in none. */
  edge: string;
  changed: string[];
}

/** One snapshot of `trace_block` and `trace_change`. A range of each primary key, and at most $4 entries of `trace_pkey`. */
function findSql(conditions: readonly BlockCondition[]): string {
  let number = 7;
  const matches = conditions.map(({ sql, values }) => sql(values.map(() => `$${number++}`)));
  return `
  WITH found AS MATERIALIZED (
    SELECT after_id, last_id FROM trace_block
    WHERE ${["account_id = $1", "last_start >= $2", "first_start <= $3", ...matches].join(" AND ")} LIMIT $4
  ), edge AS MATERIALIZED (
    SELECT COALESCE((SELECT last_id FROM trace_block WHERE account_id = $1 ORDER BY last_id DESC LIMIT 1), '${smallestUuid}') AS id
  ), changed AS MATERIALIZED (
    SELECT DISTINCT trace_id FROM trace_change WHERE account_id = $1 AND trace_id <= (SELECT id FROM edge) LIMIT $5
  )
  SELECT ARRAY(SELECT after_id FROM found) AS "afterIds", ARRAY(SELECT last_id FROM found) AS "lastIds",
    (SELECT id FROM edge) AS edge, ARRAY(
      SELECT trace_id FROM changed WHERE NOT EXISTS (SELECT FROM found WHERE trace_id > after_id AND trace_id <= last_id)
    ) AS changed,
    (SELECT count(*) < $4 FROM found) AND (SELECT count(*) < $5 FROM changed) AND (SELECT count(*) < $6 FROM (
      SELECT FROM trace WHERE account_id = $1 AND id > (SELECT id FROM edge) ORDER BY id LIMIT $6) t) AS "isFew"`;
}

/** @returns undefined where the places have too many traces to read them all */
export async function findPlaces(
  pool: pg.Pool,
  { accountId, from, to, conditions }: BlocksToFind,
): Promise<TracePlaces | undefined> {
  const { rows } = await pool.query<TracePlaces & { isFew: boolean }>({
    name: `find-blocks ${conditions.map(({ key }) => key).join(" ")}`,
    text: findSql(conditions),
    values: [accountId, from, to, maxBlocks, maxChanged, maxNew, ...conditions.flatMap(({ values }) => values)],
  });
  const [found] = rows;
  return found?.isFew ? found : undefined;
}

/**
 * The traces of places with four parameters, in ranges and probes of `trace_pkey`. The limits are out of reach: they keep the
 * planner from other indexes, and from costs that make Postgres compile the statement (`jit_above_cost`).
 */
export function placesSource([afterIds, lastIds, edge, changed]: readonly string[]): string {
  return `(
    SELECT t.* FROM unnest(${afterIds}::uuid[], ${lastIds}::uuid[]) AS block (after_id, last_id)
    CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id > after_id AND id <= last_id LIMIT ${4 * maxBlockTraces}) t
    UNION ALL (SELECT * FROM trace WHERE account_id = $1 AND id > ${edge}::uuid LIMIT ${2 * maxNew})
    UNION ALL SELECT t.* FROM unnest(${changed}::uuid[]) AS changed (id)
    CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = changed.id OFFSET 0) t
  ) AS trace`;
}

/** All of some bits of a block's marks. */
export function marksCondition(key: string, marks: readonly number[]): BlockCondition {
  return { key, values: marks, sql: (bits) => bits.map((bit) => `get_bit(marks, ${bit}) = 1`).join(" AND ") };
}

/** All of some bits of the contents' filter. Postgres reads a few of its bytes; a block without a filter may have any text. */
export function contentsCondition(bits: readonly number[]): BlockCondition {
  const sql = ([all]: readonly string[]) => `(contents IS NULL OR NOT EXISTS (
      SELECT FROM unnest(${all}::int[]) AS bit
      WHERE get_bit(substring(contents FROM bit % (8 * octet_length(contents)) / 8 + 1 FOR 1), bit % 8) = 0 OFFSET 0))`;
  return { key: "contents", values: [bits], sql };
}

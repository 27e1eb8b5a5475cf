import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { failingSpanSql } from "./failing-span.js";
import { isoText } from "./iso-text.js";
import type { ListedTrace } from "./list-traces.query.js";

const outlinePageSpans = 5_000;
const maxErrorText = 200;
/** Larger attributes are not read for the kind; the name decides then. */
const maxAttributeBytes = 4_096;

export interface OutlineTrace extends Omit<ListedTrace, "duration_ms"> {
  /** The three below are on the first page only. */
  spans?: number;
  errors?: number;
  /** The failing span that the failure mail names. */
  first_failed?: string | null;
}

/** The spans of a page by column, without contents; rows in order of receipt. */
export interface OutlinePage {
  trace: OutlineTrace;
  /** The database's time of this reading. */
  at: string;
  id: string[];
  /** The parent's row on this page, or its id as sent; null at the top. */
  parent: (number | string | null)[];
  names: string[];
  name: number[];
  /** `gen_ai.operation.name|openinference.span.kind|traceloop.span.kind|ai.operationId`. */
  hints: string[];
  hint: number[];
  /** Microseconds since the trace's start. */
  start: number[];
  /** Microseconds; null without an end. */
  duration: (number | null)[];
  /** 1: failed, 2: has input, 4: has output, 8: has an error text, 16: has attributes. */
  flags: number[];
  /** The first 200 characters of error texts, by row. */
  errors: Record<number, string>;
  /** The id to continue after; null on the last page. */
  next: string | null;
}

const kindAttributes = ["gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId"];
const hintSql = `CASE WHEN s.attributes IS NOT NULL AND pg_column_size(s.attributes) <= ${maxAttributeBytes} THEN (
  SELECT left(concat_ws('|', ${kindAttributes.map((_, n) => `COALESCE(a.k${n}, '')`).join(", ")}), 200)
  FROM (SELECT ${kindAttributes.map((name, n) => `s.attributes #>> '{attributes,"${name}"}' AS k${n}`).join(", ")}) a) END`;

const spanSql = `SELECT s.id, s.parent_span_id AS parent, s.name, ${hintSql} AS hint,
  (date_part('epoch', s.started_at - t.started_at) * 1e6)::int8 AS start,
  (date_part('epoch', s.ended_at - s.started_at) * 1e6)::int8 AS duration,
  (s.status = 'error')::int + CASE WHEN s.input IS NULL THEN 0 ELSE 2 END + CASE WHEN s.output IS NULL THEN 0 ELSE 4 END
    + CASE WHEN s.error IS NULL THEN 0 ELSE 8 END
    + CASE WHEN s.attributes IS NULL AND s.resource_id IS NULL THEN 0 ELSE 16 END AS flags,
  left(s.error, ${maxErrorText}) AS error
  FROM span s WHERE s.account_id = t.account_id AND s.trace_id = t.id`;

const columnNames = ["id", "parent", "name", "hint", "start", "duration", "flags", "error"] as const;

/** JSON with a list for each column: a row for each span would leave Node 80,000 values to collect. */
const columnsSql = (spans: string) =>
  `SELECT json_build_object(${columnNames.map((name) => `'${name}', COALESCE(json_agg(${name}), '[]')`).join(", ")}) AS columns FROM (${spans}) spans`;

/** Spans after an id, and one more that tells of a further page: one range of `span_pkey`. */
const pageSql = columnsSql(`${spanSql} AND s.id > $3 ORDER BY s.id LIMIT ${outlinePageSpans + 1}`);

const traceColumns = `t.id, t.agent_id, t.name, t.status, ${isoText("t.started_at")} AS started_at,
  ${isoText("t.ended_at")} AS ended_at, ${isoText("now()")} AS at`;

/** The trace and a page: one probe of `trace_pkey`, whose account makes another's trace not found. Sessions run in UTC. */
const readPageSql = `SELECT ${traceColumns}, page.columns
  FROM trace t, LATERAL (${pageSql}) page WHERE t.account_id = $1 AND t.id = $2`;

/** The same with counts and the first failing span: three reads of one range of `span_pkey`. */
const readFirstSql = `
  WITH wanted AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id), ${failingSpanSql("wanted")}
  SELECT ${traceColumns}, counted.spans, counted.errors, (SELECT id FROM innermost) AS first_failed, page.columns
  FROM trace t, LATERAL (
    SELECT count(*)::int AS spans, count(*) FILTER (WHERE status = 'error')::int AS errors
    FROM span WHERE account_id = t.account_id AND trace_id = t.id
  ) counted, LATERAL (${pageSql}) page
  WHERE t.account_id = $1 AND t.id = $2`;

/** Certain spans of a trace: probes of `span_pkey` below the account's trace. */
const readAgainSql = `SELECT again.columns FROM trace t, LATERAL (${columnsSql(`${spanSql} AND s.id = ANY ($3::uuid[])`)}) again
  WHERE t.account_id = $1 AND t.id = $2`;

interface Columns {
  id: string[];
  parent: (string | null)[];
  name: string[];
  hint: (string | null)[];
  start: number[];
  duration: (number | null)[];
  flags: number[];
  error: (string | null)[];
}

interface OutlineToRead {
  accountId: string;
  traceId: string;
  /** Spans after this id; from the first, with counts, if omitted. */
  after?: string | undefined;
  /** Spans to read again, before those after `after`. */
  ids?: readonly string[] | undefined;
}

/** A page of the outline; undefined if the account has no such trace. */
export async function readOutline(
  pool: pg.Pool,
  { accountId, traceId, after, ids = [] }: OutlineToRead,
): Promise<OutlinePage | undefined> {
  const key = [accountId, traceId];
  const statement =
    after === undefined ? { name: "outline-first", text: readFirstSql } : { name: "outline-page", text: readPageSql };
  const [read, again] = await Promise.all([
    pool.query<OutlineTrace & { at: string; columns: string }>({
      ...statement,
      values: [...key, after ?? smallestUuid],
    }),
    ids.length === 0
      ? undefined
      : pool.query<{ columns: string }>({ name: "outline-again", text: readAgainSql, values: [...key, ids] }),
  ]);
  const [row] = read.rows;
  if (!row) return undefined;
  const { at, columns, ...trace } = row;
  const page: Columns = JSON.parse(columns);
  const changed = again?.rows.map((found): Columns => JSON.parse(found.columns)) ?? [];
  const next = page.id.length > outlinePageSpans ? (page.id[outlinePageSpans - 1] ?? null) : null;
  for (const name of columnNames) page[name].length = Math.min(page[name].length, outlinePageSpans);
  return { trace, at, ...byColumn([...changed, page]), next };
}

function byColumn(parts: readonly Columns[]): Omit<OutlinePage, "trace" | "at" | "next"> {
  const column = <T>(of: (part: Columns) => T[]) => ([] as T[]).concat(...parts.map(of));
  const id = column((part) => part.id);
  const rowOf = new Map<string, number>();
  for (const [row, each] of id.entries()) rowOf.set(each, row);
  const [names, name] = numbered(column((part) => part.name));
  const [hints, hint] = numbered(column((part) => part.hint));
  const errors: Record<number, string> = {};
  for (const [row, error] of column((part) => part.error).entries()) if (error !== null) errors[row] = error;
  return {
    id,
    parent: column((part) => part.parent).map((parent) => parent && (rowOf.get(parent.toLowerCase()) ?? parent)),
    ...{ names, name, hints, hint },
    start: column((part) => part.start),
    duration: column((part) => part.duration),
    flags: column((part) => part.flags),
    errors,
  };
}

/** The texts once each, and the number of each text among them; "" for null. */
function numbered(texts: readonly (string | null)[]): [texts: string[], numbers: number[]] {
  const known = new Map<string, number>();
  const numbers = texts.map((text) => {
    const number = known.get(text ?? "") ?? known.size;
    if (number === known.size) known.set(text ?? "", number);
    return number;
  });
  return [[...known.keys()], numbers];
}

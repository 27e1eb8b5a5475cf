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
  /** Texts that spans share. */
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

const spanSql = `SELECT s.id, s.parent_span_id, s.name,
  (date_part('epoch', s.started_at - t.started_at) * 1e6)::int8,
  (date_part('epoch', s.ended_at - s.started_at) * 1e6)::int8,
  (s.status = 'error')::int + CASE WHEN s.input IS NULL THEN 0 ELSE 2 END + CASE WHEN s.output IS NULL THEN 0 ELSE 4 END
    + CASE WHEN s.error IS NULL THEN 0 ELSE 8 END
    + CASE WHEN s.attributes IS NULL AND s.resource_id IS NULL THEN 0 ELSE 16 END,
  left(s.error, ${maxErrorText}), ${hintSql}
  FROM trace t JOIN span s ON s.account_id = t.account_id AND s.trace_id = t.id
  WHERE t.account_id = $1 AND t.id = $2`;

/** A page of a trace's spans without contents: one range of `span_pkey`, whose account makes another's trace empty. */
const readPageSql = `${spanSql} AND s.id > $3 ORDER BY s.id LIMIT ${outlinePageSpans}`;

/** Certain spans of a trace: probes of `span_pkey` below the account's trace. */
const readSomeSql = `${spanSql} AND s.id = ANY ($3::uuid[]) ORDER BY s.id`;

const traceColumns = `t.id, t.agent_id, t.name, t.status, ${isoText("t.started_at")} AS started_at,
  ${isoText("t.ended_at")} AS ended_at, ${isoText("now()")} AS at`;

/** The trace: one probe of `trace_pkey`, whose account makes another's trace not found. Sessions run in UTC. */
const readTraceSql = `SELECT ${traceColumns} FROM trace t WHERE t.account_id = $1 AND t.id = $2`;

/** The same with counts and the first failing span: two reads of one range of `span_pkey`. */
const readHeadSql = `
  WITH wanted AS (SELECT $1::uuid AS account_id, $2::uuid AS trace_id), ${failingSpanSql("wanted")}
  SELECT ${traceColumns}, counted.spans, counted.errors, (SELECT id FROM innermost) AS first_failed
  FROM trace t, LATERAL (
    SELECT count(*)::int AS spans, count(*) FILTER (WHERE status = 'error')::int AS errors
    FROM span WHERE account_id = t.account_id AND trace_id = t.id
  ) counted
  WHERE t.account_id = $1 AND t.id = $2`;

type Row = [
  id: string,
  parent: string | null,
  name: string,
  start: number,
  duration: number | null,
  flags: number,
  error: string | null,
  hint: string | null,
];

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
  const head =
    after === undefined ? { name: "outline-head", text: readHeadSql } : { name: "outline-trace", text: readTraceSql };
  const page = { name: "outline-page", text: readPageSql, rowMode: "array" };
  const [trace, some, rows] = await Promise.all([
    pool.query<OutlineTrace & { at: string }>({ ...head, values: key }),
    ids.length === 0
      ? undefined
      : pool.query<Row>({ name: "outline-some", text: readSomeSql, rowMode: "array", values: [...key, ids] }),
    pool.query<Row>({ ...page, values: [...key, after ?? smallestUuid] }),
  ]);
  const [row] = trace.rows;
  if (!row) return undefined;
  const { at, ...found } = row;
  const isLast = rows.rows.length < outlinePageSpans;
  return {
    ...{ trace: found, at },
    ...byColumn([...(some?.rows ?? []), ...rows.rows]),
    next: isLast ? null : (rows.rows.at(-1)?.[0] ?? null),
  };
}

function byColumn(rows: readonly Row[]): Omit<OutlinePage, "trace" | "at" | "next"> {
  const rowOf = new Map(rows.map(([id], row) => [id, row]));
  const [names, hints] = [new Map<string, number>(), new Map<string, number>()];
  const errors: Record<number, string> = {};
  const columns = { id: [], parent: [], name: [], hint: [], start: [], duration: [], flags: [] } as Pick<
    OutlinePage,
    "id" | "parent" | "name" | "hint" | "start" | "duration" | "flags"
  >;
  for (const [row, [id, parent, name, start, duration, flags, error, hint]] of rows.entries()) {
    columns.id.push(id);
    columns.parent.push(parent === null ? null : (rowOf.get(parent.toLowerCase()) ?? parent));
    columns.name.push(number(names, name));
    columns.hint.push(number(hints, hint ?? ""));
    columns.start.push(start);
    columns.duration.push(duration);
    columns.flags.push(flags);
    if (error !== null) errors[row] = error;
  }
  return { ...columns, names: [...names.keys()], hints: [...hints.keys()], errors };
}

function number(texts: Map<string, number>, text: string): number {
  const known = texts.get(text);
  if (known !== undefined) return known;
  texts.set(text, texts.size);
  return texts.size - 1;
}

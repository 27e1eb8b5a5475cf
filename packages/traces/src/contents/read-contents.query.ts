import { idBounds, smallestUuid } from "@waymark/database";
import type pg from "pg";
import { weightSql } from "../get-trace.query.js";
import { fieldOf, type SpanFieldName } from "../span-fields.js";

/** The fields of a span that searches read, beside the names of traces. */
const searchedNames = ["name", "error", "input", "output"] as const satisfies readonly SpanFieldName[];
const jsonNames = searchedNames.filter((name) => fieldOf(name).type === "json");
const textNames = searchedNames.filter((name) => fieldOf(name).type === "text");

/** Traces of a statement, and spans of one of them. */
const [maxTraces, maxSpans] = [64, 1_000];
/** Compressed bytes count eightfold, so the texts of a statement take some 23 MB at most, or those of one span. */
const maxWeight = 2_097_152;
/** A span's row without its texts, and its part of the index. */
const rowBytes = 180;

const ofSpan = (sqlOf: (name: string) => string) => searchedNames.map((name) => sqlOf(`s.${name}`)).join(" + ");
const separated = (names: readonly string[]) => {
  const texts = names.map((name) => `${name}::text`).join(", ");
  return `string_agg(concat_ws(E'\\x01', ${texts}), E'\\x01') FILTER (WHERE is_near)`;
};

/**
 * The texts of traces in their order, of the first trace from the spans after $5 on, as far as their weight allows; what stays
 * compressed is not read. A range of `span_pkey` for each trace.
 */
const readContentsSql = `
  WITH near AS MATERIALIZED (
    SELECT *, total <= ${maxWeight} OR place = 1 AS is_near FROM (
      SELECT *, sum(weight) OVER (ORDER BY n, id) AS total, row_number() OVER (ORDER BY n, id) AS place
      FROM unnest($2::uuid[]) WITH ORDINALITY AS q (trace_id, n)
      CROSS JOIN LATERAL (
        SELECT s.id, ${searchedNames.map((name) => `s.${name}`).join(", ")}, ${ofSpan(weightSql)} AS weight,
          ${rowBytes} + ${ofSpan((column) => `COALESCE(pg_column_size(${column}), 0)`)} AS stored
        FROM span s WHERE s.account_id = $1 AND s.trace_id = q.trace_id AND s.trace_id BETWEEN $3 AND $4 AND (q.n > 1 OR s.id > $5)
        ORDER BY s.id LIMIT ${maxSpans}
      ) s
    ) weighed
  )
  SELECT n::int, ${separated(textNames)} AS texts, ${separated(jsonNames)} AS jsons, sum(stored) FILTER (WHERE is_near)::float8 AS bytes,
    (array_agg(id ORDER BY id DESC) FILTER (WHERE is_near))[1] AS last, count(*) = ${maxSpans} OR NOT bool_and(is_near) AS "isCut"
  FROM near GROUP BY n ORDER BY n`;

interface Row {
  n: number;
  texts: string | null;
  jsons: string | null;
  bytes: number | null;
  last: string | null;
  isCut: boolean;
}

export interface Contents {
  /** The index of the trace. */
  index: number;
  texts: string;
  jsons: string;
  /** On disk. */
  bytes: number;
  /** The last of the spans; undefined if the trace ends here. */
  next: string | undefined;
}

interface ContentsToRead {
  accountId: string;
  traceIds: readonly string[];
  /** A span of the first trace: it and those before are left out. */
  after?: string | undefined;
  /** Whether more of the trace is to be read. */
  isWanted?(index: number): boolean;
}

/** Reads the texts of traces in their order, in parts that bound the memory. */
export async function* readContents(
  db: pg.Pool | pg.ClientBase,
  { accountId, traceIds, after = smallestUuid, isWanted = () => true }: ContentsToRead,
): AsyncGenerator<Contents, void, void> {
  let [index, size] = [0, maxTraces];
  for (let from = after; index < traceIds.length; ) {
    const asked = traceIds.slice(index, index + size);
    const values = [accountId, asked, ...idBounds(asked), from];
    const { rows } = await db.query<Row>({ name: "read-contents", text: readContentsSql, values });
    const found = new Map(rows.map((row) => [row.n, row]));
    const first = index;
    from = smallestUuid;
    // Large traces leave the others of a statement unread.
    size = Math.min(size * 2, maxTraces);
    for (; index < first + asked.length; index++) {
      const row = found.get(index - first + 1);
      const next = row?.isCut ? (row.last ?? smallestUuid) : undefined;
      if (next === undefined || row?.last)
        yield { index, texts: row?.texts ?? "", jsons: row?.jsons ?? "", bytes: row?.bytes ?? 0, next };
      if (next === undefined || !isWanted(index)) continue;
      from = next;
      size = Math.max(1, index - first);
      break;
    }
  }
}

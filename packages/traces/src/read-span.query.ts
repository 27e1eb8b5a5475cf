import type pg from "pg";
import { attributesText } from "./trace-json.js";

/** Larger contents are cut; `readContent` has all of one. */
const maxContentBytes = 5_000_000;
const cutCharacters = 100_000;

/** A span's contents as the texts that were sent; null where nothing was. */
export interface SpanContents {
  id: string;
  input: string | null;
  output: string | null;
  error: string | null;
  attributes: string | null;
  /** Bytes of contents of which only a head is here. */
  cut: Partial<Record<ContentName, number>>;
}

export type ContentName = "input" | "output" | "error" | "attributes";

/** SQL for the contents of a span `s` as they were sent. */
export const contents = {
  input: "s.input::text",
  output: "s.output::text",
  error: "s.error",
  attributes: attributesText,
} as const satisfies Record<ContentName, string>;

const columns = Object.entries(contents).map(([name, text]) => `${text} AS ${name}`);

/** Columns of type `json` keep what was sent, byte for byte. A probe of `span_pkey`, whose account hides others' spans. */
const readSpanSql = `
  SELECT c.id, ${Object.keys(contents)
    .map(
      (name) => `octet_length(c.${name}) AS ${name}_bytes,
    CASE WHEN octet_length(c.${name}) > ${maxContentBytes} THEN left(c.${name}, ${cutCharacters}) ELSE c.${name} END AS ${name}`,
    )
    .join(", ")}
  FROM (SELECT s.id, ${columns.join(", ")} FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3) c`;

type Row = Omit<SpanContents, "cut"> & Record<`${keyof typeof contents}_bytes`, number | null>;

/** A span's contents; undefined if the account has no such span. */
export async function readSpan(
  pool: pg.Pool,
  { accountId, traceId, spanId }: { accountId: string; traceId: string; spanId: string },
): Promise<SpanContents | undefined> {
  const values = [accountId, traceId, spanId];
  const { rows } = await pool.query<Row>({ name: "read-span", text: readSpanSql, values });
  const [row] = rows;
  if (!row) return undefined;
  const cut: SpanContents["cut"] = {};
  for (const name of ["input", "output", "error", "attributes"] as const) {
    const bytes = row[`${name}_bytes`] ?? 0;
    if (bytes > maxContentBytes) cut[name] = bytes;
  }
  const { id, input, output, error, attributes } = row;
  return { id, input, output, error, attributes, cut };
}

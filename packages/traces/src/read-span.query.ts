import type pg from "pg";
import { type ContentName, contentNames, fieldOf } from "./span-fields.js";
import { attributesText } from "./trace-json.js";

/** Larger contents are cut; `readContent` has all of one. */
const maxContentBytes = 5_000_000;
const cutCharacters = 100_000;

/** A span's contents as the texts that were sent; null where nothing was. */
export type SpanContents = Record<ContentName, string | null> & {
  id: string;
  /** Bytes of contents of which only a head is here. */
  cut: Partial<Record<ContentName, number>>;
};

/** SQL for a content of a span `s` as it was sent. */
function contentSql(name: ContentName): string {
  if (name === "attributes") return attributesText;
  return fieldOf(name).type === "json" ? `s.${name}::text` : `s.${name}`;
}

const columns = contentNames.map((name) => `${contentSql(name)} AS ${name}`);

/** Columns of type `json` keep what was sent, byte for byte. A probe of `span_pkey`, whose account hides others' spans. */
const readSpanSql = `
  SELECT c.id, ${contentNames
    .map(
      (name) => `octet_length(c.${name}) AS ${name}_bytes,
    CASE WHEN octet_length(c.${name}) > ${maxContentBytes} THEN left(c.${name}, ${cutCharacters}) ELSE c.${name} END AS ${name}`,
    )
    .join(", ")}
  FROM (SELECT s.id, ${columns.join(", ")} FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3) c`;

type Row = Omit<SpanContents, "cut"> & Record<`${ContentName}_bytes`, number | null>;

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
  for (const name of contentNames) {
    const bytes = row[`${name}_bytes`] ?? 0;
    if (bytes > maxContentBytes) cut[name] = bytes;
  }
  const texts = Object.fromEntries(contentNames.map((name) => [name, row[name]])) as Record<ContentName, string | null>;
  return { id: row.id, ...texts, cut };
}

/** One content, whole. A probe of `span_pkey`, whose account hides others' spans. */
const readContentSql = (name: ContentName) =>
  `SELECT ${contentSql(name)} AS text FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3`;

/** The stored text, however large; undefined if the account has no such span or nothing was sent. */
export async function readContent(
  pool: pg.Pool,
  { accountId, traceId, spanId, name }: { accountId: string; traceId: string; spanId: string; name: ContentName },
): Promise<string | undefined> {
  const values = [accountId, traceId, spanId];
  const statement = { name: `read-content-${name}`, text: readContentSql(name), values };
  const { rows } = await pool.query<{ text: string | null }>(statement);
  return rows[0]?.text ?? undefined;
}

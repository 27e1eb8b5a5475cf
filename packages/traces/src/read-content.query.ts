import type pg from "pg";
import { type ContentName, contents } from "./read-span.query.js";

/** One part of a span's contents, whole. A probe of `span_pkey`, whose account hides others' spans. */
const readContentSql = (name: ContentName) =>
  `SELECT ${contents[name]} AS text FROM span s WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id = $3`;

interface ContentToRead {
  accountId: string;
  traceId: string;
  spanId: string;
  name: ContentName;
}

/** The stored text, however large; undefined if the account has no such span or nothing was sent. */
export async function readContent(
  pool: pg.Pool,
  { accountId, traceId, spanId, name }: ContentToRead,
): Promise<string | undefined> {
  const values = [accountId, traceId, spanId];
  const statement = { name: `read-content-${name}`, text: readContentSql(name), values };
  const { rows } = await pool.query<{ text: string | null }>(statement);
  return rows[0]?.text ?? undefined;
}

import type pg from "pg";
import type { EarlierLines } from "./occurrences.js";

/** On a connection of the import, so that they take no memory here. */
const createTableSql = "CREATE TEMP TABLE import_line (id uuid NOT NULL, seen integer NOT NULL)";
const addSql = "INSERT INTO import_line SELECT id, seen FROM unnest($1::uuid[], $2::int[]) AS moved (id, seen)";

/** A file in order needs none. */
const createIndexSql = "CREATE INDEX IF NOT EXISTS import_line_idx ON import_line (id)";
const readSql = `
  SELECT id, sum(seen)::int AS seen FROM unnest($1::uuid[]) AS each (id) JOIN import_line USING (id) GROUP BY id`;

/** Gives some work a table for earlier lines, which the session has until the work ends. */
export async function withEarlierLines(
  client: pg.ClientBase,
  work: (earlier: EarlierLines) => Promise<void>,
): Promise<void> {
  await client.query("DROP TABLE IF EXISTS pg_temp.import_line");
  await client.query(createTableSql);
  try {
    await work({
      async read(firstIds) {
        await client.query(createIndexSql);
        const { rows } = await client.query<{ id: string; seen: number }>(readSql, [firstIds]);
        return new Map(rows.map(({ id, seen }) => [id, seen]));
      },
      async add(firstIds, seen) {
        await client.query(addSql, [firstIds, seen]);
      },
    });
  } finally {
    // A broken connection has no table any more.
    await client.query("DROP TABLE IF EXISTS pg_temp.import_line").catch(() => undefined);
  }
}

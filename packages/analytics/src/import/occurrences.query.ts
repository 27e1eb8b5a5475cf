import type pg from "pg";

export interface OccurrenceCounter {
  /**
   * Counts a batch of lines in the caller's transaction, so a rollback also undoes the count.
   * @param firstIds per line the id of its first occurrence
   * @returns gives the occurrence of a line, from 1; call it once for each line, in order
   */
  count(firstIds: readonly string[]): Promise<(firstId: string) => number>;
}

/**
 * Occurrences of each line so far, on the import's own connection, so they take no memory here. Ids start with the time, so a
 * log in order fills the primary key from left to right.
 */
const createTableSql = "CREATE TEMP TABLE import_line (id uuid PRIMARY KEY, seen integer NOT NULL)";

/** Adds a batch to the counts by primary key; returns only lines with more than one occurrence, since most files have few. */
const countSql = `
  WITH counted AS (
    INSERT INTO import_line AS line (id, seen) SELECT id, seen FROM unnest($1::uuid[], $2::int[]) AS each (id, seen)
    ORDER BY id
    ON CONFLICT (id) DO UPDATE SET seen = line.seen + EXCLUDED.seen
    RETURNING id, seen
  )
  SELECT id, seen FROM counted WHERE seen > 1`;

/** Makes the counter of an import. The caller drops its table `import_line`. */
export async function createOccurrenceCounter(client: pg.ClientBase): Promise<OccurrenceCounter> {
  await client.query("DROP TABLE IF EXISTS pg_temp.import_line");
  await client.query(createTableSql);
  return {
    async count(firstIds) {
      const inBatch = new Map<string, number>();
      for (const id of firstIds) inBatch.set(id, (inBatch.get(id) ?? 0) + 1);
      const { rows } = await client.query<{ id: string; seen: number }>(countSql, [
        [...inBatch.keys()],
        [...inBatch.values()],
      ]);
      const last = new Map<string, number>();
      for (const { id, seen } of rows) last.set(id, seen - (inBatch.get(id) ?? 0));
      return (firstId) => {
        const occurrence = (last.get(firstId) ?? 0) + 1;
        if (occurrence > 1 || inBatch.get(firstId) !== 1) last.set(firstId, occurrence);
        return occurrence;
      };
    },
  };
}

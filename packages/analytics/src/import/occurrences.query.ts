import type pg from "pg";

/** Numbers identical lines of one import, across batches. */
export interface OccurrenceCounter {
  /**
   * Counts a batch of lines, in the caller's transaction: what rolls back was not counted.
   * @param firstIds per line the id of its first occurrence
   * @returns to be asked once for each line, in order: which occurrence it is, from 1
   */
  count(firstIds: readonly string[]): Promise<(firstId: string) => number>;
}

/**
 * How often each line came so far, on the import's own connection and gone with it: a file of any size takes no memory
 * here. The key starts with the time, so that a log in order fills the index from left to right.
 */
const createTableSql = "CREATE TEMP TABLE import_line (id uuid PRIMARY KEY, seen integer NOT NULL)";

/**
 * Adds a batch to the counts by primary key, and tells of the lines that came more than once by now: few, in most files.
 */
const countSql = `
  WITH counted AS (
    INSERT INTO import_line AS line (id, seen) SELECT id, seen FROM unnest($1::uuid[], $2::int[]) AS each (id, seen)
    ORDER BY id
    ON CONFLICT (id) DO UPDATE SET seen = line.seen + EXCLUDED.seen
    RETURNING id, seen
  )
  SELECT id, seen FROM counted WHERE seen > 1`;

/** Makes the counter of an import. The table `import_line` is the caller's to drop. */
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

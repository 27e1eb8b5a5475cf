import type pg from "pg";
import { toArray } from "../recording/record-events.query.js";

/** Lines in memory; the latest of them stay, since most logs are nearly in the order of time. */
const bounds = { most: 60_000, kept: 10_000 } as const;

/** Earlier lines, beyond the memory of an import. */
export interface EarlierLines {
  /** @returns the occurrences of those that are there */
  read(firstIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Adds lines, given as two arrays of Postgres. */
  add(firstIds: string, seen: string): Promise<void>;
}

/** Counts the occurrences of each line of an import, by the id of the first one. Ids start with the time. */
export class OccurrenceCounter {
  private latest = new Set<string>();
  /** Of lines that came more than once. */
  private readonly repeated = new Map<string, number>();
  /** Of the ids that are not in memory. */
  private lastEarlier = "";

  constructor(
    private readonly earlier: EarlierLines,
    private readonly max: { most: number; kept: number } = bounds,
  ) {}

  /** @returns the number of this occurrence, from 1, without the earlier ones */
  count(firstId: string): number {
    const { size } = this.latest;
    if (this.latest.add(firstId).size > size) return 1;
    const occurrence = (this.repeated.get(firstId) ?? 1) + 1;
    this.repeated.set(firstId, occurrence);
    return occurrence;
  }

  mayBeEarlier(firstId: string): boolean {
    return firstId <= this.lastEarlier;
  }

  async readEarlier(firstIds: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    const ids = [...new Set(firstIds)];
    return ids.length === 0 ? new Map() : this.earlier.read(ids);
  }

  async tidy(): Promise<void> {
    if (this.latest.size <= this.max.most) return;
    const inOrder = [...this.latest].sort();
    this.latest = new Set(inOrder.slice(-this.max.kept));
    const moved = inOrder.slice(0, -this.max.kept);
    const last = moved.at(-1) ?? "";
    if (last > this.lastEarlier) this.lastEarlier = last;
    const seen = moved.map((id) => this.repeated.get(id) ?? 1);
    for (const id of moved) this.repeated.delete(id);
    await this.earlier.add(toArray(moved), toArray(seen));
  }
}

/** On a connection of the import, so that they take no memory here. */
const createTableSql = "CREATE TEMP TABLE import_line (id uuid NOT NULL, seen integer NOT NULL)";
const addSql = "INSERT INTO import_line SELECT id, seen FROM unnest($1::uuid[], $2::int[]) AS moved (id, seen)";

/** A file in order needs none. */
const createIndexSql = "CREATE INDEX IF NOT EXISTS import_line_idx ON import_line (id)";
const readSql = `
  SELECT id, sum(seen)::int AS seen FROM unnest($1::uuid[]) AS each (id) JOIN import_line USING (id) GROUP BY id`;

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

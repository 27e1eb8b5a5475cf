import { toArray } from "../recording/statements.js";

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

  /** Forgets the earliest lines. */
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

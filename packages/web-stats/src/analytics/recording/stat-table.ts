import { LRUCache } from "lru-cache";
import { listsPerView, viewLists } from "../../lists/lists.js";
import { hash64 } from "../visitors/hash-visitor.js";
import type { CountedAs } from "./list-overflow.js";

/** The figures of a row of `daily_stat`, and its columns. */
export const statFigures = [
  "visitors",
  "pageviews",
  "visits",
  "bounces",
  "visit_us",
  "visit_views",
  "events",
  "engagements",
] as const;

type StatFigure = (typeof statFigures)[number];

/** A batch's additions to a row of `daily_stat`. */
export type StatChange = Record<StatFigure, number>;

export interface OpenStat extends StatChange {
  /** Empty in dimensions that no visitor has seen. */
  readonly hash: string;
}

/**
 * 64 bits of SHA-256 over dimension and value, like the database function `seen_hash`. Two values of one visitor's day collide
 * once in 10^15 days with a hundred values each. The next batch often has the same values.
 */
const seenHashes = new LRUCache<string, string>({ max: 20_000, memoMethod: hash64 });

function seenHash(dimension: string, value: string): string {
  return seenHashes.memo(`${dimension}\n${value}`);
}

const seenDimensions = new Set(["hour", ...viewLists.map(({ dimension }) => dimension)]);
const dimensionsPerView = new Set(listsPerView.map(({ dimension }) => dimension));

/** A batch's additions to a day's rows of `daily_stat`. */
export class StatTable {
  /** By dimension, then by value. */
  readonly tables = new Map<string, Map<string, OpenStat>>();
  /** Rows of which only the hash is known. */
  readonly unnamed = new Map<string, OpenStat>();
  /** The rows of lists by view, by their hash. */
  private readonly perView = new Map<string, OpenStat>();

  constructor(readonly countedAs: CountedAs) {}

  row(dimension: string, value: string): OpenStat {
    return this.at(dimension, this.countedAs(dimension, value));
  }

  /** The row of a value that may be `(other)` already. */
  at(dimension: string, value: string): OpenStat {
    let table = this.tables.get(dimension);
    if (!table) {
      table = new Map();
      this.tables.set(dimension, table);
    }
    const there = table.get(value);
    if (there) return there;
    const made = openStat(seenDimensions.has(dimension) ? seenHash(dimension, value) : "");
    table.set(value, made);
    if (dimensionsPerView.has(dimension)) this.perView.set(made.hash, made);
    return made;
  }

  /** The row of a list by view. Rows that the batch names must be there before. */
  withHash(hash: string): OpenStat {
    const there = this.perView.get(hash) ?? this.unnamed.get(hash);
    if (there) return there;
    const made = openStat(hash);
    this.unnamed.set(hash, made);
    return made;
  }
}

const noFigures: Readonly<StatChange> = {
  visitors: 0,
  pageviews: 0,
  visits: 0,
  bounces: 0,
  visit_us: 0,
  visit_views: 0,
  events: 0,
  engagements: 0,
};

function openStat(hash: string): OpenStat {
  return { hash, ...noFigures };
}

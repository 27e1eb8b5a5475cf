import { LRUCache } from "lru-cache";
import type { KnownVisitor } from "./roll-up.js";
import type { Visit } from "./visit.js";

/** Visitors of all sites and days, at about a kilobyte each. Some have many visits, or thousands of pages. */
const maxVisitors = 20_000;
/** Fields of visits and hashes of values, at some 30 bytes each. */
const maxValues = 1_000_000;
const valuesPerVisit = 25;
const maxDays = 1_000;

/** The rows of a visitor's day. */
export interface RememberedVisitor {
  /** Undefined without page views. */
  readonly counted: KnownVisitor | undefined;
  readonly visits: readonly Visit[];
}

/** Names a state of a site's day: the number of its events, and of the rebuilds that mended it. */
export interface DayState {
  readonly events: number;
  readonly mends: number;
}

/**
 * What a writer's own batches left in the rows, so that a visitor's next view needs no look-up. Each event and each mending
 * rebuild changes a day's state, so the same state means that nobody else has changed a row.
 */
export class VisitorMemory {
  private readonly days = new LRUCache<string, DayState & { generation: number }>({ max: maxDays });
  private readonly visitors = new LRUCache<string, RememberedVisitor>({
    max: maxVisitors,
    maxSize: maxValues,
    sizeCalculation: countValues,
  });
  private generations = 0;

  /**
   * @param day of a site (`keyOf`)
   * @param state under the site's lock
   */
  open(day: string, { events, mends }: DayState): DayMemory {
    const known = this.days.get(day);
    const isSame = known?.events === events && known.mends === mends;
    const generation = isSame ? known.generation : ++this.generations;
    return {
      recall: (visitor) => this.visitors.get(`${generation} ${visitor}`),
      keep: (state, visitors) => {
        this.days.set(day, { ...state, generation });
        for (const [visitor, remembered] of visitors) this.visitors.set(`${generation} ${visitor}`, remembered);
      },
    };
  }
}

function countValues({ counted, visits }: RememberedVisitor): number {
  let values = 1 + (counted?.seen.length ?? 0);
  for (const { viewed } of visits) values += valuesPerVisit + viewed.length;
  return values;
}

export interface DayMemory {
  recall(visitor: string): RememberedVisitor | undefined;
  /** Call it after the commit, since an undone batch leaves a state that another one may reach. */
  keep(state: DayState, visitors: Iterable<readonly [string, RememberedVisitor]>): void;
}

import { LRUCache } from "lru-cache";
import type pg from "pg";
import { keyOf, type SiteDay } from "./record-events.query.js";
import type { DayChange, KnownVisitor } from "./roll-up.js";
import type { SiteEvent } from "./site-event.js";
import { gather, toArray } from "./statements.js";
import { type OpenVisit, originColumns, type Visit, type VisitorVisits } from "./visit.js";
import { readVisits } from "./visits.query.js";

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

/** The known visitors of days, by probes of `daily_visitor_pkey`. */
const readVisitorsSql = `
  SELECT site_id AS "siteId", day::text, visitor::text, seen::text, entry_id AS "entryId", entry_path AS "entryPath",
    to_char(entry_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "entryAt"
  FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS each (site_id, day, visitor)
  CROSS JOIN LATERAL (
    SELECT seen, entry_id, entry_path, entry_at FROM daily_visitor
    WHERE (site_id, day, visitor) = (each.site_id, each.day, each.visitor) OFFSET 0
  ) AS known`;

interface VisitorRow extends SiteDay {
  visitor: string;
  /** As Postgres writes an array: `{1,2}`. */
  seen: string;
  entryId: string;
  entryPath: string;
  entryAt: string;
}

/** Reads known visitors by day (`keyOf`) and visitor. */
async function readVisitors(
  client: pg.ClientBase,
  wanted: { siteIds: string[]; days: string[]; visitors: string[] },
): Promise<Map<string, Map<string, KnownVisitor>>> {
  const values = [wanted.siteIds, wanted.days, wanted.visitors].map(toArray);
  const { rows } = await client.query<VisitorRow>({ name: "read-visitors", text: readVisitorsSql, values });
  const byDay = new Map<string, Map<string, KnownVisitor>>();
  for (const row of rows) {
    const key = keyOf(row);
    const visitors = byDay.get(key) ?? new Map<string, KnownVisitor>();
    const entry = { at: row.entryAt, id: row.entryId, path: row.entryPath };
    visitors.set(row.visitor, { seen: row.seen.slice(1, -1).split(","), entry });
    byDay.set(key, visitors);
  }
  return byDay;
}

interface Day extends SiteDay {
  readonly events: readonly SiteEvent[];
  readonly state: DayState;
}

/** The rows of a day's visitors before a batch. */
interface KnownDay {
  readonly visitors: Map<string, KnownVisitor>;
  readonly visits: Map<string, readonly Visit[]>;
  /** Keeps the rows that a committed batch has left. */
  remember(change: DayChange, merged: readonly VisitorVisits[]): void;
}

/** Recalls the visitors of new events, and reads those that the memory lacks. In the order of the days. */
export async function readKnown(
  client: pg.ClientBase,
  days: readonly Day[],
  { memory, copies }: { memory?: VisitorMemory | undefined; copies: boolean },
): Promise<KnownDay[]> {
  const wanted = { siteIds: [] as string[], days: [] as string[], visitors: [] as string[] };
  const known = days.map((day) => {
    const kept = memory?.open(keyOf(day), day.state);
    const visitors = new Map<string, KnownVisitor>();
    const own: KnownDay = {
      visitors,
      visits: new Map(),
      remember(change, merged) {
        const state = { ...day.state, events: day.state.events + day.events.length };
        kept?.keep(
          state,
          merged.map((each) => [each.visitor, rowsOf(each, visitors.get(each.visitor), change)] as const),
        );
      },
    };
    for (const visitor of visitorsOf(day.events)) {
      const remembered = kept?.recall(visitor);
      if (remembered) {
        if (remembered.counted) own.visitors.set(visitor, remembered.counted);
        own.visits.set(visitor, remembered.visits);
      } else {
        wanted.siteIds.push(day.siteId);
        wanted.days.push(day.day);
        wanted.visitors.push(visitor);
      }
    }
    return own;
  });
  if (wanted.visitors.length === 0) return known;
  const [visitors, visits] = await gather(
    copies,
    () => readVisitors(client, wanted),
    () => readVisits(client, wanted),
  );
  days.forEach((day, index) => {
    for (const [visitor, counted] of visitors.get(keyOf(day)) ?? []) known[index]?.visitors.set(visitor, counted);
    for (const [visitor, own] of visits.get(keyOf(day)) ?? []) known[index]?.visits.set(visitor, own);
  });
  return known;
}

function visitorsOf(events: readonly SiteEvent[]): Set<string> {
  const visitors = new Set<string>();
  for (const { visitor } of events) if (visitor !== null) visitors.add(visitor);
  return visitors;
}

function rowsOf(merged: VisitorVisits, before: KnownVisitor | undefined, { visitors }: DayChange): RememberedVisitor {
  const { known, after } = merged;
  const change = visitors.get(merged.visitor);
  const isSame = !change || (before && change.newlySeen.length === 0 && !change.isEntryNew);
  return {
    counted: isSame ? before : { seen: [...(before?.seen ?? []), ...change.newlySeen], entry: change.entry },
    visits: [...known.filter((visit) => !merged.before.includes(visit)), ...after.map(closeVisit)],
  };
}

/** Without the batch's events. */
function closeVisit({ added: _, ...visit }: OpenVisit): Visit {
  const origin: Record<string, string | null> = {};
  for (const column of originColumns) origin[column] = visit.origin[column] ?? null;
  return { ...visit, origin };
}

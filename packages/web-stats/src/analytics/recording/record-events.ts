import { sendTogether } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { boundEvents, boundLists } from "./overflow.js";
import {
  copyEvents,
  eventCount,
  gather,
  insertEvents,
  keyOf,
  lockSites,
  mendCount,
  readSizes,
  type SiteDay,
  toArray,
  tryLockSites,
  type WrittenEvents,
} from "./record-events.query.js";
import { type DayChange, type KnownVisitor, rollUp } from "./roll-up.js";
import type { SiteEvent } from "./site-event.js";
import { mergeVisits, type OpenVisit, originColumns, type Visit, type VisitorVisits } from "./visit.js";
import { readVisits } from "./visits.query.js";
import { writeRollups } from "./write-rollups.query.js";

/** Visitors of all sites and days, at about a kilobyte each. Some have many visits, or thousands of pages. */
const maxVisitors = 20_000;
/** Fields of visits and hashes of values, at some 30 bytes each. */
const maxValues = 1_000_000;
const valuesPerVisit = 25;
const maxDays = 1_000;

interface RememberedVisitor {
  /** Undefined without page views. */
  readonly counted: KnownVisitor | undefined;
  readonly visits: readonly Visit[];
}

/** Names a state of a site's day: the number of its events, and of the rebuilds that mended it. */
interface DayState {
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

  /** @param state of a day by `keyOf`, under the site's lock */
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

interface DayMemory {
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

interface OpenDay extends SiteDay {
  readonly events: readonly SiteEvent[];
  readonly state: DayState;
}

interface KnownDay {
  readonly visitors: Map<string, KnownVisitor>;
  readonly visits: Map<string, readonly Visit[]>;
  /** Keeps the rows that a committed batch has left. */
  remember(change: DayChange, merged: readonly VisitorVisits[]): void;
}

async function readKnown(
  client: pg.ClientBase,
  days: readonly OpenDay[],
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

function closeVisit({ added: _, ...visit }: OpenVisit): Visit {
  const origin: Record<string, string | null> = {};
  for (const column of originColumns) origin[column] = visit.origin[column] ?? null;
  return { ...visit, origin };
}

interface Day extends SiteDay {
  readonly events: SiteEvent[];
}

interface RecordOptions {
  /** Of the writer's batches; without it all rows are read. */
  readonly memory?: VisitorMemory;
  /** The events as rows for COPY, if they are many of one site; the connection must not send statements together. */
  readonly written?: WrittenEvents;
}

/**
 * Waits for the locks of the events' sites, and records events. The locks last until the caller commits, so concurrent writers
 * lose no increment and count no visitor twice. Returns the number of new events.
 */
export async function recordEvents(
  client: pg.ClientBase,
  events: readonly SiteEvent[],
  options?: RecordOptions,
): Promise<number> {
  if (events.length === 0) return 0;
  await lockSites(client, [...new Set(events.map(({ siteId }) => siteId))]);
  const { count } = await recordLockedEvents(client, events, options);
  return count;
}

interface Recorded {
  readonly count: number;
  /** Adds what the batch read and wrote to the memory. Call it after the commit. */
  remember(): void;
}

/**
 * The one write path of events: raw rows and rollups, all or nothing. A known id changes nothing, so figures always equal a
 * recount over the events.
 * @param client a connection in a transaction with the locks of the events' sites
 */
export async function recordLockedEvents(
  client: pg.ClientBase,
  events: readonly SiteEvent[],
  { memory, written }: RecordOptions = {},
): Promise<Recorded> {
  if (events.length === 0) return { count: 0, remember: () => undefined };
  const copies = written !== undefined;
  const given = groupByDay(withoutRepetitions(events));
  const [recorded, sizes] = await gather(
    copies,
    () => (written ? copyEvents(client, eventsOf(given), written) : insertEvents(client, eventsOf(given))),
    () => readSizes(client, given),
  );
  const { changes, ...done } = await workOut(client, recorded, sizes, { memory, copies });
  await writeRollups(client, changes, copies);
  return done;
}

/**
 * Records events in a transaction of its own that waits for no lock, in two round trips, or three with visitors that the memory
 * lacks.
 * @param client a connection that sends statements together, in no transaction
 * @returns undefined if another writer holds the lock of a site: no event is recorded then
 */
export async function recordFreeEvents(
  client: pg.ClientBase,
  events: readonly SiteEvent[],
  memory: VisitorMemory,
): Promise<Recorded | undefined> {
  const given = groupByDay(withoutRepetitions(events));
  const siteIds = [...new Set(given.map(({ siteId }) => siteId))];
  const [, free, recorded, sizes] = await sendTogether(client, () =>
    gather(
      false,
      () => client.query("BEGIN"),
      () => tryLockSites(client, siteIds),
      () => insertEvents(client, eventsOf(given)),
      () => readSizes(client, given),
    ),
  );
  if (free.size < siteIds.length) {
    await client.query("ROLLBACK");
    return undefined;
  }
  const { changes, ...done } = await workOut(client, recorded, sizes, { memory, copies: false });
  // An error before the last statement of `writeRollups` is sent is thrown here, so no COMMIT follows.
  await sendTogether(client, () =>
    gather(
      false,
      () => writeRollups(client, changes),
      () => client.query("COMMIT"),
    ),
  );
  return done;
}

async function workOut(
  client: pg.ClientBase,
  recorded: readonly SiteEvent[],
  sizes: ReadonlyMap<string, ReadonlyMap<string, number>>,
  { memory, copies }: { memory?: VisitorMemory | undefined; copies: boolean },
): Promise<Recorded & { changes: readonly DayChange[] }> {
  const days = groupByDay(recorded).map((day) => {
    const own: ReadonlyMap<string, number> = sizes.get(keyOf(day)) ?? new Map();
    return { ...day, sizes: own, state: { events: own.get(eventCount) ?? 0, mends: own.get(mendCount) ?? 0 } };
  });
  const known = await readKnown(client, days, { memory, copies });
  const changes: DayChange[] = [];
  const learned: (() => void)[] = [];
  for (const [index, day] of days.entries()) {
    const own = known[index];
    if (!own) continue;
    const merged = mergeVisits(day.events, own.visits);
    const countedAs = await boundLists(client, day, merged);
    const change = await boundEvents(client, rollUp(day, day.events, own.visitors, merged, countedAs), day.sizes);
    changes.push(change);
    learned.push(() => own.remember(change, merged));
  }
  return {
    changes,
    count: recorded.length,
    remember() {
      for (const learn of learned) learn();
    },
  };
}

function withoutRepetitions(events: readonly SiteEvent[]): readonly SiteEvent[] {
  const ids = new Set(events.map(({ id }) => id));
  if (ids.size === events.length) return events;
  return [...new Map(events.toReversed().map((event) => [`${event.siteId} ${event.id}`, event])).values()].reverse();
}

function groupByDay(events: readonly SiteEvent[]): Day[] {
  const days = new Map<string, Day>();
  let group: Day | undefined;
  for (const event of events) {
    // Most events are of the same day as the one before.
    if (!group || group.siteId !== event.siteId || !event.at.startsWith(group.day)) {
      const day = { siteId: event.siteId, day: event.at.slice(0, 10) };
      group = days.get(keyOf(day)) ?? { ...day, events: [] };
      days.set(keyOf(day), group);
    }
    group.events.push(event);
  }
  return [...days.values()];
}

function eventsOf(days: readonly Day[]): readonly SiteEvent[] {
  return days.flatMap((day) => day.events);
}

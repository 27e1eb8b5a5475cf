import { sendTogether } from "@waymark/database";
import type pg from "pg";
import { boundEvents } from "./event-overflow.js";
import { readKnown, type VisitorMemory } from "./known-visitors.js";
import { boundLists } from "./list-overflow.js";
import {
  copyEvents,
  eventCount,
  insertEvents,
  keyOf,
  lockSites,
  mendCount,
  readSizes,
  type SiteDay,
  tryLockSites,
  type WrittenEvents,
} from "./record-events.query.js";
import { type DayChange, rollUp } from "./roll-up.js";
import type { SiteEvent } from "./site-event.js";
import { gather } from "./statements.js";
import { mergeVisits } from "./visit.js";
import { writeRollups } from "./write-rollups.query.js";

interface Day extends SiteDay {
  readonly events: SiteEvent[];
}

export interface RecordOptions {
  /** Of the writer's batches; without it all rows are read. */
  readonly memory?: VisitorMemory;
  /** The events as rows for COPY, if they are many of one site; the connection must not send statements together. */
  readonly written?: WrittenEvents;
}

/**
 * Waits for the locks of the events' sites, and records events. The locks last until the transaction ends, so concurrent writers
 * lose no increment and count no visitor twice.
 * @param client a connection in a transaction that the caller commits
 * @returns the number of new events
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

/** What `recordLockedEvents` did. */
export interface Recorded {
  /** New events. */
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

/** What new events change in the rollups of their days. */
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

/** The first event of each id. */
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

import type pg from "pg";
import { eventRowCost, maxEventBytesPerDay } from "./day-bounds.js";
import { overflowEvents } from "./event-overflow.js";
import { createListOverflow, findNearlyFullLists, type NearlyFullList } from "./list-overflow.js";
import { countEventBytes, readListedEvents } from "./listed-events.query.js";
import {
  insertEvents,
  keyOf,
  lockSites,
  readListed,
  readSizes,
  readVisitors,
  type SiteDay,
} from "./record-events.query.js";
import { type DayChange, rollUp } from "./roll-up.js";
import type { SiteEvent } from "./site-event.js";
import { writeRollups } from "./write-rollups.query.js";

interface Day extends SiteDay {
  readonly events: SiteEvent[];
}

/**
 * Records events, and waits for the locks of their sites, which last until the transaction ends: several writers lose no
 * increment, count no visitor twice, and wait for each other in one order.
 * @param client a connection in a transaction that the caller has begun and will commit
 * @returns how many of the events were new
 */
export async function recordEvents(client: pg.ClientBase, events: readonly SiteEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  await lockSites(client, [...new Set(events.map(({ siteId }) => siteId))]);
  return recordLockedEvents(client, events);
}

/**
 * The one way in which events are written: raw rows and rollups, all of it or nothing. An id that is recorded already changes
 * nothing, so that figures always equal a count over the events.
 * @param client a connection in a transaction that has locked the events' sites
 * @returns how many of the events were new
 */
export async function recordLockedEvents(client: pg.ClientBase, events: readonly SiteEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const recorded = await insertEvents(client, withoutRepetitions(events));
  if (recorded.length === 0) return 0;
  const days = groupByDay(recorded);
  const visitors = await readVisitors(client, visitorsOf(days));
  const sizes = await readSizes(client, days);
  const changes: DayChange[] = [];
  for (const day of days) {
    const key = keyOf(day);
    const daySizes = sizes.get(key) ?? new Map<string, number>();
    const lists = findNearlyFullLists(day.events, daySizes);
    const countedAs = lists.length === 0 ? undefined : createListOverflow(lists, await readLists(client, day, lists));
    const change = rollUp(day, day.events, visitors.get(key) ?? new Map(), countedAs);
    changes.push(await boundEvents(client, change, daySizes));
  }
  await writeRollups(client, changes);
  return recorded.length;
}

/** The events of a batch, of those with one id the first. */
function withoutRepetitions(events: readonly SiteEvent[]): readonly SiteEvent[] {
  const ids = new Set(events.map(({ id }) => id));
  if (ids.size === events.length) return events;
  return [...new Map(events.toReversed().map((event) => [`${event.siteId} ${event.id}`, event])).values()].reverse();
}

function groupByDay(events: readonly SiteEvent[]): Day[] {
  const days = new Map<string, Day>();
  let group: Day | undefined;
  for (const event of events) {
    // Most events follow one of the same day.
    if (!group || group.siteId !== event.siteId || !event.at.startsWith(group.day)) {
      const day = { siteId: event.siteId, day: event.at.slice(0, 10) };
      group = days.get(keyOf(day)) ?? { ...day, events: [] };
      days.set(keyOf(day), group);
    }
    group.events.push(event);
  }
  return [...days.values()];
}

function visitorsOf(days: readonly Day[]) {
  const wanted = { siteIds: [] as string[], days: [] as string[], visitors: [] as string[] };
  for (const { siteId, day, events } of days) {
    const visitors = new Set<string>();
    for (const { type, visitor } of events) if (type === "pageview" && visitor !== null) visitors.add(visitor);
    for (const visitor of visitors) {
      wanted.siteIds.push(siteId);
      wanted.days.push(day);
      wanted.visitors.push(visitor);
    }
  }
  return wanted;
}

async function readLists(client: pg.ClientBase, day: SiteDay, lists: readonly NearlyFullList[]) {
  const listed = new Map<string, ReadonlySet<string>>();
  for (const { dimension, wanted } of lists) {
    listed.set(dimension, await readListed(client, day, dimension, [...wanted]));
  }
  return listed;
}

/** Counts a day's custom events beyond its bytes as `(other)`. */
async function boundEvents(
  client: pg.ClientBase,
  change: DayChange,
  sizes: ReadonlyMap<string, number>,
): Promise<DayChange> {
  if (change.events.size === 0) return change;
  // Days from before bytes were counted have rows and no bytes.
  const isMissing = !sizes.has("event_bytes") && sizes.has("event");
  const size = isMissing ? await countEventBytes(client, change) : (sizes.get("event_bytes") ?? 0);
  let bytes = 0;
  for (const [name, properties] of change.events) {
    for (const [property, values] of properties) {
      for (const value of values.keys()) bytes += eventRowCost(name, property, value);
    }
  }
  const capacityBytes = Math.max(0, maxEventBytesPerDay - size);
  if (bytes <= capacityBytes) return change;
  const listed = await readListedEvents(client, change);
  return { ...change, events: overflowEvents(change.events, { capacityBytes, ...listed }) };
}

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
import { mergeVisits } from "./visit.js";
import { readVisits } from "./visits.query.js";
import { writeRollups } from "./write-rollups.query.js";

interface Day extends SiteDay {
  readonly events: SiteEvent[];
}

/**
 * Waits for the locks of the events' sites, and records events. The locks last until the transaction ends, so concurrent writers
 * lose no increment and count no visitor twice.
 * @param client a connection in a transaction that the caller commits
 * @returns the number of new events
 */
export async function recordEvents(client: pg.ClientBase, events: readonly SiteEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  await lockSites(client, [...new Set(events.map(({ siteId }) => siteId))]);
  return recordLockedEvents(client, events);
}

/**
 * The one write path of events: raw rows and rollups, all or nothing. A known id changes nothing, so figures always equal a
 * recount over the events.
 * @param client a connection in a transaction with the locks of the events' sites
 * @returns the number of new events
 */
export async function recordLockedEvents(client: pg.ClientBase, events: readonly SiteEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const recorded = await insertEvents(client, withoutRepetitions(events));
  if (recorded.length === 0) return 0;
  const days = groupByDay(recorded);
  const visitors = await readVisitors(
    client,
    visitorsOf(days, ({ type }) => type === "pageview"),
  );
  const visits = await readVisits(
    client,
    visitorsOf(days, () => true),
  );
  const sizes = await readSizes(client, days);
  const changes: DayChange[] = [];
  for (const day of days) {
    const key = keyOf(day);
    const daySizes = sizes.get(key) ?? new Map<string, number>();
    const merged = mergeVisits(day.events, visits.get(key) ?? new Map());
    const lists = findNearlyFullLists(day.events, merged, daySizes);
    const countedAs = lists.length === 0 ? undefined : createListOverflow(lists, await readLists(client, day, lists));
    const change = rollUp(day, day.events, visitors.get(key) ?? new Map(), merged, countedAs);
    changes.push(await boundEvents(client, change, daySizes));
  }
  await writeRollups(client, changes);
  return recorded.length;
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

function visitorsOf(days: readonly Day[], isWanted: (event: SiteEvent) => boolean) {
  const wanted = { siteIds: [] as string[], days: [] as string[], visitors: [] as string[] };
  for (const { siteId, day, events } of days) {
    const visitors = new Set<string>();
    for (const event of events) if (event.visitor !== null && isWanted(event)) visitors.add(event.visitor);
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

async function boundEvents(
  client: pg.ClientBase,
  change: DayChange,
  sizes: ReadonlyMap<string, number>,
): Promise<DayChange> {
  if (change.events.size === 0) return change;
  // Days older than the bound of bytes have a number of rows only.
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

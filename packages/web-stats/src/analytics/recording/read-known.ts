import type pg from "pg";
import { gather } from "./gather.js";
import { keyOf, readVisitors, type SiteDay } from "./record-events.query.js";
import type { DayChange, KnownVisitor } from "./roll-up.js";
import type { SiteEvent } from "./site-event.js";
import { type OpenVisit, originColumns, type Visit, type VisitorVisits } from "./visit.js";
import type { DayMemory, DayState, RememberedVisitor, VisitorMemory } from "./visitor-memory.js";
import { readVisits } from "./visits.query.js";

interface Day extends SiteDay {
  readonly events: readonly SiteEvent[];
  readonly state: DayState;
}

/** The rows of a day's visitors before a batch. */
interface KnownDay {
  readonly visitors: Map<string, KnownVisitor>;
  readonly visits: Map<string, readonly Visit[]>;
  readonly memory: DayMemory | undefined;
}

/** Recalls the visitors of new events, and reads those that the memory lacks. In the order of the days. */
export async function readKnown(
  client: pg.ClientBase,
  days: readonly Day[],
  { memory, copies }: { memory?: VisitorMemory | undefined; copies: boolean },
): Promise<KnownDay[]> {
  const wanted = { siteIds: [] as string[], days: [] as string[], visitors: [] as string[] };
  const known = days.map((day): KnownDay => {
    const own = { visitors: new Map(), visits: new Map(), memory: memory?.open(keyOf(day), day.state) };
    for (const visitor of visitorsOf(day.events)) {
      const remembered = own.memory?.recall(visitor);
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

/** Keeps a committed batch's rows of a day in its memory. */
export function remember(day: Day, known: KnownDay, change: DayChange, merged: readonly VisitorVisits[]): void {
  const state = { ...day.state, events: day.state.events + day.events.length };
  known.memory?.keep(
    state,
    merged.map((each) => [each.visitor, rowsOf(each, known.visitors.get(each.visitor), change)] as const),
  );
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

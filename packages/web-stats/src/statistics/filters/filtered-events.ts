import { Buffer } from "node:buffer";
import { otherValue } from "../../lists/lists.js";
import type { DayPart } from "../columns/day-part.js";
import { type CustomEvent, eventBounds } from "../custom-events.query.js";
import type { Days } from "../range.js";
import type { Filtering } from "../read-statistics.js";
import { firstOf, type Work } from "../work.js";
import { type Match, matchVisits } from "./match-visits.js";
import { heldBytes } from "./tally.js";

/** Of names, properties and values held while counting; occurrences of further ones count as `(other)`. */
const maxHeldBytes = 16_777_216;

interface Counter {
  count: number;
  readonly properties: Map<string, Map<string, number>>;
}

/** Reads the custom events of the visits that match, under filters of events those that match, within the bounds of an answer. */
export async function readFilteredEvents(
  { columns, filters }: Filtering,
  { siteId, days }: { siteId: string; days: Days },
): Promise<CustomEvent[]> {
  const counters = new Map<string, Counter>();
  let held = 0;
  const hold = <Value>(map: Map<string, Value>, key: string, make: () => Value): Value => {
    const there = map.get(key);
    if (there !== undefined) return there;
    const kept = held < maxHeldBytes ? key : otherValue;
    const value = map.get(kept) ?? make();
    if (!map.has(kept)) held += heldBytes(kept);
    map.set(kept, value);
    return value;
  };
  const raise = (values: Map<string, number>, value: string, count: number) => {
    const kept = values.has(value) || held < maxHeldBytes ? value : otherValue;
    if (!values.has(kept)) held += heldBytes(kept);
    values.set(kept, (values.get(kept) ?? 0) + count);
  };
  const { work } = columns;
  await columns.read({ siteId, days, needs: { details: true } }, async ({ part }) => {
    const pairs = await countPairs(part, await matchVisits(part, filters, work), work);
    for (const [pair, count] of pairs) {
      const { name, props, text } = readPair(part, pair);
      if (work.look(5 * text.length + 100)) await work.rest();
      const counter = hold(counters, name, () => ({ count: 0, properties: new Map() }) as Counter);
      counter.count += count;
      for (const [property, value] of Object.entries(props)) {
        raise(
          hold(counter.properties, property, () => new Map<string, number>()),
          rolledValue(value),
          count,
        );
      }
    }
  });
  return toAnswer(counters, work);
}

/** Counts events that are alike in name and properties. */
async function countPairs({ visits, events }: DayPart, match: Match, work: Work): Promise<Map<number, number>> {
  const props = events.details?.props;
  if (!props) throw new Error("The part was read without its details");
  const counts = new Map<number, number>();
  for (let visit = 0; visit < visits.count; visit++) {
    if (match.visits[visit] === 0) continue;
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    if (work.spend(5 * (end - first))) await work.rest();
    for (let event = first; event < end; event++) {
      const name = events.names.ids[event] ?? 0;
      if (name === 0 || match.events?.[event] === 0) continue;
      const pair = name * props.values.length + (props.ids[event] ?? 0);
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  return counts;
}

function readPair({ events: { names, details } }: DayPart, pair: number) {
  const values = details?.props.values ?? [];
  const text = values[pair % values.length] ?? "";
  const props = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { name: names.values[Math.floor(pair / values.length)] ?? "", props, text };
}

/** Bytes by which a value counts; a longer one counts by its start with an ellipsis, as in the rollups. */
const maxRolledBytes = 200;

function rolledValue(value: unknown): string {
  const text = String(value);
  const bytes = Buffer.from(text);
  if (bytes.length <= maxRolledBytes) return text;
  const cut = bytes.subarray(0, maxRolledBytes - Buffer.byteLength("…"));
  // A character that the cut broke ends as replacement characters.
  return `${cut.toString().replace(/\uFFFD+$/, "")}…`;
}

const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text));

type Count = readonly [name: string, count: number];

const byCount = ([a, one]: Count, [b, other]: Count) => other - one || (a < b ? -1 : 1);

/** The first rows that fit the bounds, and the sum of the others. */
async function cut(
  counts: Iterable<Count>,
  { rows, bytes, rowBytes, work }: { rows: number; bytes: number; rowBytes: number; work: Work },
) {
  let [left, all, used] = [bytes, 0, 0];
  const sizeOf = (name: string) => jsonBytes(name) + rowBytes;
  for (const [name, count] of counts) {
    all += count;
    used += sizeOf(name);
    if (work.spend(50)) await work.rest();
  }
  const shown: Count[] = [];
  let sum = 0;
  for (const row of await firstOf(counts, { compare: byCount, limit: rows + 1, work })) {
    left -= sizeOf(row[0]);
    if (row[0] === otherValue || shown.length >= rows || left < 0) continue;
    shown.push(row);
    sum += row[1];
  }
  return { shown, rest: all - sum, bytes: bytes - used };
}

async function toAnswer(counters: ReadonlyMap<string, Counter>, work: Work): Promise<CustomEvent[]> {
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const counts = Array.from(counters, ([name, { count }]) => [name, count] as const);
  const { shown, rest } = await cut(counts, { rows: names, bytes: nameBytes, rowBytes: 90, work });
  const left: Record<"properties" | "values", number> = { properties: propertyBytes, values: valueBytes };
  const events: CustomEvent[] = [];
  for (const [name, count] of shown) {
    const properties: [string, Record<string, number>][] = [];
    const own = counters.get(name)?.properties ?? new Map<string, Map<string, number>>();
    const limit = Math.floor(propertyBytes / minPropertyBytes);
    for (const [property, values] of await firstOf(own, { compare: ([a], [b]) => (a < b ? -1 : 1), limit, work })) {
      left.properties -= jsonBytes(property) + minPropertyBytes;
      if (property === otherValue || left.properties < 0) continue;
      const bounds = { rows: valuesPerProperty, bytes: Math.max(0, left.values), rowBytes: 18, work };
      const kept = await cut(values, bounds);
      left.values = kept.bytes;
      const rows: Count[] = kept.rest > 0 ? [...kept.shown, [otherValue, kept.rest]] : kept.shown;
      properties.push([property, Object.fromEntries(rows)]);
    }
    events.push({ name, count, properties: Object.fromEntries(properties) });
  }
  return rest > 0 ? [...events, { name: otherValue, count: rest, properties: {} }] : events;
}

/** Of a property without values. */
const minPropertyBytes = 32;

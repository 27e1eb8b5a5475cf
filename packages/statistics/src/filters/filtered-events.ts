import { Buffer } from "node:buffer";
import { otherValue } from "@waymark/lists";
import type { DayPart } from "../columns/day-part.js";
import { type CustomEvent, eventBounds } from "../custom-events.query.js";
import type { Days } from "../range.js";
import type { Filtering } from "../read-statistics.js";
import { matchVisits } from "./match-visits.js";

/** Names, properties and values held while counting; occurrences of further ones count as `(other)`. */
const maxHeld = 200_000;

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
    const kept = held < maxHeld ? key : otherValue;
    const value = map.get(kept) ?? make();
    if (!map.has(kept)) held++;
    map.set(kept, value);
    return value;
  };
  const raise = (values: Map<string, number>, value: string, count: number) => {
    const kept = values.has(value) || held < maxHeld ? value : otherValue;
    if (!values.has(kept)) held++;
    values.set(kept, (values.get(kept) ?? 0) + count);
  };
  for await (const { parts } of columns.read({ siteId, days, needs: { details: true } })) {
    for (const part of parts) {
      for (const { name, props, count } of countPairs(part, matchVisits(part, filters))) {
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
    }
  }
  return toAnswer(counters);
}

interface Pair {
  name: string;
  props: Record<string, unknown>;
  count: number;
}

/** Counts events that are alike in name and properties. */
function countPairs({ visits, events }: DayPart, match: ReturnType<typeof matchVisits>): Pair[] {
  const props = events.details?.props;
  if (!props) throw new Error("The part was read without its details");
  const counts = new Map<number, number>();
  for (let visit = 0; visit < visits.count; visit++) {
    if (match.visits[visit] === 0) continue;
    const end = visits.firstEvent[visit + 1] ?? 0;
    for (let event = visits.firstEvent[visit] ?? 0; event < end; event++) {
      const name = events.names.ids[event] ?? 0;
      if (name === 0 || match.events?.[event] === 0) continue;
      const pair = name * props.values.length + (props.ids[event] ?? 0);
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  return Array.from(counts, ([pair, count]) => {
    const text = props.values[pair % props.values.length] ?? "";
    return {
      name: events.names.values[Math.floor(pair / props.values.length)] ?? "",
      props: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
      count,
    };
  });
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
function cut(counts: Iterable<Count>, { rows, bytes, rowBytes }: { rows: number; bytes: number; rowBytes: number }) {
  let [left, rest] = [bytes, 0];
  const shown: Count[] = [];
  for (const [name, count] of [...counts].sort(byCount)) {
    left -= jsonBytes(name) + rowBytes;
    if (name === otherValue || shown.length >= rows || left < 0) rest += count;
    else shown.push([name, count]);
  }
  return { shown, rest, bytes: left };
}

function toAnswer(counters: ReadonlyMap<string, Counter>): CustomEvent[] {
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const counts = Array.from(counters, ([name, { count }]) => [name, count] as const);
  const { shown, rest } = cut(counts, { rows: names, bytes: nameBytes, rowBytes: 90 });
  const left: Record<"properties" | "values", number> = { properties: propertyBytes, values: valueBytes };
  const events = shown.map(([name, count]) => {
    const properties: [string, Record<string, number>][] = [];
    const own = counters.get(name)?.properties ?? new Map<string, Map<string, number>>();
    for (const [property, values] of [...own].sort(([a], [b]) => (a < b ? -1 : 1))) {
      left.properties -= jsonBytes(property) + 32;
      if (property === otherValue || left.properties < 0) continue;
      const kept = cut(values, { rows: valuesPerProperty, bytes: Math.max(0, left.values), rowBytes: 18 });
      left.values = kept.bytes;
      const rows: Count[] = kept.rest > 0 ? [...kept.shown, [otherValue, kept.rest]] : kept.shown;
      properties.push([property, Object.fromEntries(rows)]);
    }
    return { name, count, properties: Object.fromEntries(properties) };
  });
  return rest > 0 ? [...events, { name: otherValue, count: rest, properties: {} }] : events;
}

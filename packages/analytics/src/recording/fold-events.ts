import { eventRowCost } from "./fold.js";
import { otherValue } from "./site-event.js";

/** Occurrences of custom events by name, property (empty for the event itself) and value. */
export type Occurrences = Map<string, Map<string, Map<string, number>>>;

/** What a day has of custom events already. */
export interface ListedEvents {
  /** Bytes that it has room for. */
  readonly room: number;
  has(name: string, property: string, value: string): boolean;
  hasProperty(name: string, property: string): boolean;
}

/**
 * Counts what a full day has no room for under `(other)`: the value of a known property, else the property of a known event,
 * else the event itself, whose properties are then left out. So a day grows by no more than a row per known property.
 */
export function foldEvents(
  occurrences: ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>,
  listed: ListedEvents,
): Occurrences {
  const folded: Occurrences = new Map();
  let room = listed.room;
  const knows = (name: string, property: string) =>
    listed.hasProperty(name, property) || folded.get(name)?.has(property) === true;
  for (const [name, properties] of occurrences) {
    for (const [property, values] of properties) {
      for (const [value, count] of values) {
        const isListed = listed.has(name, property, value) || folded.get(name)?.get(property)?.has(value) === true;
        const cost = isListed ? 0 : eventRowCost(name, property, value);
        if (cost <= room) {
          room -= cost;
          add(folded, [name, property, value], count);
        } else if (property !== "" && knows(name, property)) add(folded, [name, property, otherValue], count);
        else if (property !== "" && knows(name, "")) add(folded, [name, otherValue, otherValue], count);
        else if (property === "") add(folded, [otherValue, "", ""], count);
      }
    }
  }
  return folded;
}

function add(occurrences: Occurrences, [name, property, value]: [string, string, string], count: number): void {
  const properties = occurrences.get(name) ?? new Map<string, Map<string, number>>();
  const values = properties.get(property) ?? new Map<string, number>();
  values.set(value, (values.get(value) ?? 0) + count);
  properties.set(property, values);
  occurrences.set(name, properties);
}

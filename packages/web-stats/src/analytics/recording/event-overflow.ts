import { otherValue } from "../../lists/lists.js";
import { eventRowCost } from "./day-bounds.js";

/** Occurrences of custom events by name, property (empty for the event itself) and value. */
export type Occurrences = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, number>>>;

type OpenOccurrences = Map<string, Map<string, Map<string, number>>>;

/** The custom events that a day already has. */
export interface ListedEvents {
  /** Bytes that new rows may take. */
  readonly capacityBytes: number;
  has(name: string, property: string, value: string): boolean;
  hasProperty(name: string, property: string): boolean;
}

/**
 * Counts occurrences beyond a day's capacity as `(other)`: first as another value of a known property, else as another property of a
 * known event, else as another event without properties. So a full day grows by at most a row per known property.
 */
export function overflowEvents(occurrences: Occurrences, listed: ListedEvents): Occurrences {
  const counted: OpenOccurrences = new Map();
  let capacityBytes = listed.capacityBytes;
  const knows = (name: string, property: string) =>
    listed.hasProperty(name, property) || counted.get(name)?.has(property) === true;
  for (const [name, properties] of occurrences) {
    for (const [property, values] of properties) {
      for (const [value, count] of values) {
        const isListed = listed.has(name, property, value) || counted.get(name)?.get(property)?.has(value) === true;
        const cost = isListed ? 0 : eventRowCost(name, property, value);
        if (cost <= capacityBytes) {
          capacityBytes -= cost;
          add(counted, [name, property, value], count);
        } else if (property !== "" && knows(name, property)) add(counted, [name, property, otherValue], count);
        else if (property !== "" && knows(name, "")) add(counted, [name, otherValue, otherValue], count);
        else if (property === "") add(counted, [otherValue, "", ""], count);
      }
    }
  }
  return counted;
}

function add(occurrences: OpenOccurrences, [name, property, value]: [string, string, string], count: number): void {
  const properties = occurrences.get(name) ?? new Map<string, Map<string, number>>();
  const values = properties.get(property) ?? new Map<string, number>();
  values.set(value, (values.get(value) ?? 0) + count);
  properties.set(property, values);
  occurrences.set(name, properties);
}

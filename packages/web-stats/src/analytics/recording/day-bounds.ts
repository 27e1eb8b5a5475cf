import { Buffer } from "node:buffer";
import { cutToBytes } from "../attribution/cut-to-bytes.js";
import type { PropertyValue } from "./site-event.js";

/** Values of a list per site and UTC day; further ones count as `(other)`, so made-up paths cannot grow the rollups. */
export const maxValuesPerDay = 10_000;

/** Bytes of `daily_event` per site and UTC day; the rest counts as `(other)`, in rows that take about as much again. */
export const maxEventBytesPerDay = 512 * 1_024;

/** Bytes of a row beside its texts, in a table and in an answer. */
export const eventRowBytes = 32;

/** Bytes of UTF-8 by which a property's value counts; a longer value counts by its start with an ellipsis. */
const maxRolledBytes = 200;
const ellipsis = "…";

/** The text under which a property's value counts. The database function `rolled_value` gives the same. */
export function rolledValue(value: PropertyValue): string {
  const text = String(value);
  if (text.length * 3 <= maxRolledBytes || Buffer.byteLength(text) <= maxRolledBytes) return text;
  return cutToBytes(text, maxRolledBytes - Buffer.byteLength(ellipsis)) + ellipsis;
}

/** Bytes of a row of `daily_event`. */
export function eventRowCost(name: string, property: string, value: string): number {
  return eventRowBytes + Buffer.byteLength(name) + Buffer.byteLength(property) + Buffer.byteLength(value);
}

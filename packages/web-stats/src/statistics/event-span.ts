import { uuidV7Floor } from "@waymark/database";

/** Ids may be some seconds ahead of their events' times, or behind, where a clock was adjusted. */
const clockMs = 60_000;

/** Parameters of a statement over a time's events: a range of ids that holds them all, and the time itself, its end excluded. */
export type EventSpan = readonly [firstId: string, endId: string, start: Date, end: Date];

/** @param start milliseconds since 1970 */
export function eventSpan(start: number, lengthMs: number): EventSpan {
  const end = start + lengthMs;
  return [uuidV7Floor(start - clockMs), uuidV7Floor(end + clockMs), new Date(start), new Date(end)];
}

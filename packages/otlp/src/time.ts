import type { Unsigned64 } from "./request.js";

/** 2^32 = 4,294,967 * 1,000 + 296. */
const thousands = 4_294_967;
const remainder = 296;

/**
 * Formats nanoseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, truncated to microseconds. It computes in halves: a
 * number cannot hold today's nanoseconds. 64 bits end before the year 2555.
 */
export function timeOfNanos({ low, high }: Unsigned64): string {
  const micros = high * thousands + Math.floor((high * remainder + (low >>> 0)) / 1000);
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return `${new Date(millis).toISOString().slice(0, 23)}${rest}Z`;
}

/** Zero is OTLP's default for an absent time. */
export function isUnset({ low, high }: Unsigned64): boolean {
  return low === 0 && high === 0;
}

export function isTime({ high }: Unsigned64): boolean {
  return !Number.isNaN(high);
}

import type { Unsigned64 } from "./request.js";

/** Two to the 32nd is so many thousands, and so much more. */
const thousands = 4_294_967;
const remainder = 296;

/**
 * Nanoseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, the rest below a microsecond cut off. Counted in halves, since
 * a number cannot hold today's nanoseconds; all of 64 bits lie before the year 2555.
 */
export function timeOfNanos({ low, high }: Unsigned64): string {
  const micros = high * thousands + Math.floor((high * remainder + (low >>> 0)) / 1000);
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return `${new Date(millis).toISOString().slice(0, 23)}${rest}Z`;
}

/** Whether a time is not given: OTLP's default. */
export function isUnset({ low, high }: Unsigned64): boolean {
  return low === 0 && high === 0;
}

/** Whether a time is one that 64 bits can hold. */
export function isTime({ high }: Unsigned64): boolean {
  return !Number.isNaN(high);
}

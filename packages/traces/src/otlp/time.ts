import type { Unsigned64 } from "./request.js";

/** 2^32 = 4,294,967 * 1,000 + 296. */
const thousands = 4_294_967;
const remainder = 296;

/** The last second written: the times of a request are near each other. */
let lastSecond = Number.NaN;
let lastText = "";

/**
 * Formats nanoseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, truncated to microseconds. It computes in halves: a
 * number cannot hold today's nanoseconds. 64 bits end before the year 2555. protobufjs gives both halves a sign.
 */
export function timeOfNanos(nanos: Unsigned64): string {
  const [low, high] = [nanos.low >>> 0, nanos.high >>> 0];
  const micros = high * thousands + Math.floor((high * remainder + low) / 1000);
  const seconds = Math.floor(micros / 1_000_000);
  if (seconds !== lastSecond) {
    lastText = new Date(seconds * 1000).toISOString().slice(0, 19);
    lastSecond = seconds;
  }
  return `${lastText}.${String(micros - seconds * 1_000_000).padStart(6, "0")}Z`;
}

/** Zero is OTLP's default for an absent time. */
export function isUnset({ low, high }: Unsigned64): boolean {
  return low === 0 && high === 0;
}

export function isTime({ high }: Unsigned64): boolean {
  return !Number.isNaN(high);
}

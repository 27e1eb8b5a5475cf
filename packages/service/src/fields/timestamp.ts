import { z } from "zod";

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,20}))?)?(?:(Z)|([+-])(\d{2})(?::?(\d{2}))?)$/i;

const form = "an ISO 8601 timestamp with Z or an offset, such as 2026-01-31T12:00:00.000Z";

/** As most clients write it, with a time that exists on any day. */
const usualForm = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** A day in UTC that exists: the last one, since many timestamps in a row are of the same. */
let knownDay = "none";

export type TimestampResult = { ok: true; value: string } | { ok: false; problem: string };

/**
 * Parses an ISO 8601 timestamp with `Z` or an offset, years 0001 to 9999 (in UTC too), truncated to microseconds.
 * @returns `YYYY-MM-DDTHH:MM:SS.ffffffZ` in UTC: it sorts as text, and Postgres reads it without rounding
 */
export function parseTimestamp(text: string): TimestampResult {
  if (text.startsWith(knownDay) && usualForm.test(text)) return { ok: true, value: `${text.slice(0, 23)}000Z` };
  const match = pattern.exec(text);
  if (!match) return { ok: false, problem: `Must be ${form}` };
  const [, year = "", month = "", day = "", hour = "", minute = "", second = "0", fraction = ""] = match;
  const [, , , , , , , , , sign, offsetHour = "0", offsetMinute = "0"] = match;
  const local = utcMillis(+year, +month, +day, +hour, +minute, +second);
  const offsetMinutes = (+offsetHour * 60 + +offsetMinute) * (sign === "-" ? -1 : 1);
  if (local === undefined) return { ok: false, problem: `Must be a date and time that exist, as ${form}` };
  if (+offsetHour > 23 || +offsetMinute > 59)
    return { ok: false, problem: "Must have an offset from -23:59 to +23:59" };
  const instant = new Date(local - offsetMinutes * 60_000);
  const utcYear = instant.getUTCFullYear();
  if (+year < 1 || utcYear < 1 || utcYear > 9999)
    return { ok: false, problem: "Must lie in the years 0001 to 9999, in UTC" };
  const value = `${instant.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
  knownDay = value.slice(0, 10);
  return { ok: true, value };
}

/** Milliseconds since 1970, or undefined for a time that does not exist (30 February, 24:00, second 60). */
function utcMillis(year: number, month: number, day: number, hour: number, minute: number, second: number) {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return undefined;
  return date.setUTCHours(hour, minute, second, 0);
}

export function timestampField() {
  const notText = ({ input }: { input?: unknown }) =>
    input === undefined || input === null ? undefined : `Must be ${form}`;
  return z
    .string({ error: notText })
    .check((payload) => {
      const result = parseTimestamp(payload.value);
      if (result.ok) payload.value = result.value;
      else payload.issues.push({ code: "custom", message: result.problem, input: payload.value });
    })
    .meta({ format: "date-time", description: "ISO 8601 with `Z` or an offset; microseconds are kept" });
}

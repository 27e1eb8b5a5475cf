import { normaliseEmail, parseTimestamp } from "@waymark/service/fields";
import { InvalidArgumentError } from "commander";

/** A time on the command line, as ISO 8601 in UTC once the present is known: a relative time counts from `now`. */
export type TimeArgument = (now: Date) => string;

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const timeForms = "2h, 30m or 7d ago, a UTC day, or ISO 8601";
export const laterForms = "12h or 30d from now, the beginning of a UTC day, or ISO 8601";

/**
 * Makes a parser of times: so long ago or from now (`45s`, `30m`, `2h`, `7d`, `2w`), a UTC day (`2026-05-01`, its beginning), or
 * an ISO 8601 time with `Z` or an offset, to the microsecond.
 */
function timeParser(direction: "ago" | "from now"): (text: string) => TimeArgument {
  return (text) => {
    const [, amount, unit = ""] = /^(\d{1,5})([smhdw])$/.exec(text) ?? [];
    if (amount !== undefined) {
      const ms = Number(amount) * (unitMs[unit] ?? 0) * (direction === "ago" ? -1 : 1);
      return (now) => new Date(now.getTime() + ms).toISOString();
    }
    const result = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
    if (result.ok) return () => result.value;
    throw new InvalidArgumentError(
      `It must be a time: 30m, 2h, 7d or 2w ${direction}, a UTC day such as 2026-05-01, or ISO 8601 such as 2026-05-01T12:00:00Z.`,
    );
  };
}

export const parseTime = timeParser("ago");
export const parseLaterTime = timeParser("from now");

export function dayOf(time: string): string {
  return time.slice(0, 10);
}

export function emailAddress(text: string): string {
  const email = normaliseEmail(text);
  if (email === undefined) throw new InvalidArgumentError("It is not an email address.");
  return email;
}

export function collect(value: string, values: string[] = []): string[] {
  return [...values, value];
}

/** Makes a parser of names, separated by commas, in the order of the table. */
export function names<Name extends string>(allowed: readonly Name[]): (text: string) => Name[] {
  return (text) => {
    const given = text.split(",");
    const known = allowed.filter((name) => given.includes(name));
    if (known.length === new Set(given).size) return known;
    throw new InvalidArgumentError(`Allowed names, separated by commas, are ${allowed.join(", ")}.`);
  };
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

/** Reads a share such as `20%` or `2.5%` as a number of percent. */
export function percent(text: string): number {
  const [, value] = /^(\d{1,3}(?:\.\d{1,3})?) ?%?$/.exec(text) ?? [];
  if (value === undefined) throw new InvalidArgumentError("It must be a share such as 20%.");
  return Number(value);
}

/** Reads a time such as `90s`, `10m`, `2h` or `1d` as seconds. */
export function seconds(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a time such as 90s, 10m, 2h or 1d.");
  return (Number(amount) * (unitMs[unit] ?? 0)) / 1_000;
}

import { zone } from "./preferences.js";

const space = "\u00a0";
const thinSpace = "\u202f";

/** `1234567` as `1 234 567`, with thin spaces. */
export function formatCount(count: number | string): string {
  const [whole = "", fraction] = String(count).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thinSpace);
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Sums in their currencies, exact: `1 234.5 EUR, 3 USD`. */
export function formatRevenue(sums: readonly { currency: string; amount: string }[]): string {
  return sums.map(({ currency, amount }) => `${formatCount(amount)}${space}${currency}`).join(", ");
}

/** A count with its noun: `1 trace`, `2 traces`. */
export function formatThings(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** A share of 1: `12 %`, `<1 %`. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 1) return `<1${space}%`;
  return `${Math.round(percent)}${space}%`;
}

/** The change against another value: a share of 1; undefined when there is nothing to compare. */
export function changeOf(value: number, before: number): number | undefined {
  return before === 0 ? undefined : value / before - 1;
}

const byteUnits = ["B", "KB", "MB", "GB", "TB"];

/** Bytes in thousands: `812 B`, `8.6 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.5 ? 0 : 1;
  return `${trimZero(value.toFixed(digits))}${space}${byteUnits[unit]}`;
}

function trimZero(text: string): string {
  return text.replace(/\.0$/, "");
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A duration in milliseconds with two parts at most: `43 ms`, `2.11 s`, `4 min 50 s`, `1 h 29 min`, `2 d 3 h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1) return ms === 0 ? `0${space}ms` : `<1${space}ms`;
  if (ms < 999.5) return `${Math.round(ms)}${space}ms`;
  const seconds = ms / secondMs;
  if (seconds < 9.995) return `${seconds.toFixed(2)}${space}s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)}${space}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return twoParts(whole, 60, "min", "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return twoParts(minutes, 60, "h", "min");
  return twoParts(Math.round(minutes / 60), 24, "d", "h");
}

function twoParts(value: number, base: number, unit: string, smaller: string): string {
  const rest = value % base;
  const first = `${Math.floor(value / base)}${space}${unit}`;
  return rest === 0 ? first : `${first} ${rest}${space}${smaller}`;
}

/** How long ago: `just now`, `50 min ago`, `3 h ago`, `6 d ago`; from a week on the day in the person's zone. */
export function formatAgo(iso: string, now: Date): string {
  const ms = now.getTime() - Date.parse(iso);
  if (ms < 45 * secondMs) return "just now";
  if (ms < 59.5 * minuteMs) return `${Math.round(ms / minuteMs)}${space}min ago`;
  if (ms < 23.5 * hourMs) return `${Math.round(ms / hourMs)}${space}h ago`;
  if (ms < 7 * dayMs) return `${Math.round(ms / dayMs)}${space}d ago`;
  return formatMomentDay(iso);
}

/** Minutes that the person's zone is behind UTC at a moment; it changes with the season. */
function minutesBehind(moment: Date): number {
  if (zone.value === "UTC") return 0;
  return zone.value === "browser" ? moment.getTimezoneOffset() : behindIn(zone.value, moment);
}

/** Making one takes longer than a row may. */
const formats = new Map<string, Intl.DateTimeFormat>();

function behindIn(timeZone: string, moment: Date): number {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  formats.set(timeZone, format);
  const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d+):(\d+)/.exec(format.format(moment)) ?? [];
  return (Number(hours) * 60 + Number(minutes)) * (sign === "+" ? -1 : 1);
}

/** A moment as the clock and calendar of the person's zone have it: `2026-11-15T12:30:44`. */
function clockOf(moment: Date): string {
  return new Date(moment.getTime() - minutesBehind(moment) * minuteMs).toISOString().slice(0, 19);
}

/** The day of a moment in the person's zone: `2026-11-15`. */
export function dayOf(moment: string | Date): string {
  return clockOf(new Date(moment)).slice(0, 10);
}

/** The moment at which a day begins in the person's zone: its midnight, or the end of a change of the clock that skips it. */
export function startOfDay(day: string): Date {
  const utc = Date.parse(day);
  const startBy = (away: number) => new Date(utc + minutesBehind(new Date(utc + away)) * minuteMs);
  const [before, after] = [startBy(-dayMs), startBy(dayMs)];
  const isMidnight = (start: Date) => clockOf(start) === `${day}T00:00:00`;
  if (isMidnight(before)) return isMidnight(after) && after < before ? after : before;
  return isMidnight(after) ? after : before;
}

/** A moment in the person's zone: `2026-11-15 12:30:44 UTC+9`. */
export function formatMoment(iso: string): string {
  const moment = new Date(iso);
  const ahead = -minutesBehind(moment);
  const [hours, minutes] = [Math.trunc(Math.abs(ahead) / 60), Math.abs(ahead) % 60];
  const offset = `${hours}${minutes === 0 ? "" : `:${String(minutes).padStart(2, "0")}`}`;
  return `${clockOf(moment).replace("T", " ")} UTC${ahead === 0 ? "" : `${ahead < 0 ? "−" : "+"}${offset}`}`;
}

/** The day of a moment in the person's zone: `15 Nov 2026`. */
export function formatMomentDay(iso: string): string {
  return formatDay(dayOf(iso));
}

/** `2026-11-15 03:30:44 UTC` */
export function formatUtc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A day: `15 Nov 2026`. Takes `2026-11-15`, or a time for its UTC day. */
export function formatDay(iso: string): string {
  return `${formatShortDay(iso)}${space}${new Date(iso).getUTCFullYear()}`;
}

const monthNames = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });

export function formatMonth(timeMs: number): string {
  return monthNames.format(timeMs);
}

export function formatShortDay(iso: string): string {
  const date = new Date(iso);
  return `${date.getUTCDate()}${space}${months[date.getUTCMonth()]}`;
}

const large = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const small = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

/** An amount for the eye: cents, below a dollar three digits. Sums stay decimal texts of the server. */
export function formatDollars(dollars: number): string {
  return (Math.abs(dollars) < 1 && dollars !== 0 ? small : large).format(dollars);
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `1.2M` */
export function formatCompact(count: number): string {
  return compact.format(count);
}

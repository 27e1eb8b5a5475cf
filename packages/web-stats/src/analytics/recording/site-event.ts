import { Buffer } from "node:buffer";
import { jsonMembers, textProblem } from "@waymark/service/fields";
import type { ListColumn } from "../../lists/lists.js";
import type { Channel } from "../attribution/source-classifier.js";

export type PropertyValue = string | number | boolean;

export const eventTypes = ["pageview", "event", "engagement"] as const;
export type EventType = (typeof eventTypes)[number];

export interface Revenue {
  /** A decimal, such as `-12.5`. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
}

/** How long a visitor had a page in sight, and how far down. */
export interface Engagement {
  /** Since the report before it. */
  readonly engagedMs: number | null;
  /** The lowest point in sight so far, in percent of the page. */
  readonly scrollDepth: number | null;
}

/**
 * One page view, custom event or report of engagement as recorded, with a member for each column of a list (`packages/web-stats/src/lists`), null if unknown.
 * `utm_source` is as written, other tags are in lower case.
 */
export interface SiteEvent extends Readonly<Record<ListColumn, string | null>> {
  readonly siteId: string;
  /** A UUID whose first 48 bits are the milliseconds of `at`. A known id is not recorded again. */
  readonly id: string;
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: EventType;
  /** The visitor of the UTC day (`visitors/`), a bigint as text; null for none. */
  readonly visitor: string | null;
  /** Without query and fragment; page views always have one. */
  readonly path: string | null;
  readonly referrer: string | null;
  /** Of its URL, in lower case and without the port. */
  readonly host: string | null;
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2 in upper case. */
  readonly country: string | null;
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly device: string | null;
  readonly name: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
  readonly revenue: Revenue | null;
  /** False for a custom event that does not end a bounce. */
  readonly isInteractive: boolean;
  readonly engagement: Engagement | null;
}

/** Bytes of UTF-8. Paths, sources and property values are parts of primary keys; a B-tree entry takes at most 2,704 bytes. */
export const eventBounds = {
  pathBytes: 2_000,
  hostBytes: 255,
  nameBytes: 200,
  propertyNameBytes: 200,
  propertyValueBytes: 2_000,
  properties: 30,
  /** All properties together, as JSON. */
  propertiesBytes: 8_192,
  engagedMs: 86_400_000,
  scrollDepth: 100,
} as const;

type PropertiesResult = { props: Record<string, PropertyValue> | null } | { problem: string; path: string[] };

/**
 * Checks the properties of a custom event within `eventBounds`: texts, numbers, true and false; null is left out. Exported ones
 * may take more bytes together, and be integers of any size. A problem has the path of the property, empty for all together.
 */
export function readProperties(value: unknown, isExported = false): PropertiesResult {
  if (value === null || value === undefined) return { props: null };
  if (typeof value !== "object" || Array.isArray(value)) return { problem: "Must be a JSON object", path: [] };
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.length > eventBounds.properties) {
    return { problem: `Must have at most ${eventBounds.properties} properties`, path: [] };
  }
  for (const [name, each] of entries) {
    const nameProblem = textProblem(name) ?? lengthProblem(name, eventBounds.propertyNameBytes, 1);
    if (nameProblem) return { problem: `The name of a property: ${nameProblem}`, path: [] };
    const problem = valueProblem(each, isExported);
    if (problem) return { problem, path: [name] };
  }
  // Assignments would lose a property called __proto__.
  const props = Object.fromEntries(entries);
  if (!isExported && Buffer.byteLength(JSON.stringify(props)) > eventBounds.propertiesBytes) {
    return { problem: `Must be at most ${eventBounds.propertiesBytes} bytes of JSON in all`, path: [] };
  }
  return { props: entries.length === 0 ? null : props };
}

function valueProblem(value: unknown, isExported: boolean): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value === "number") return isExported && Number.isFinite(value) ? undefined : numberProblem(value);
  if (typeof value !== "string") return "Must be a text, a number, true or false; lists and objects are not kept";
  return textProblem(value) ?? lengthProblem(value, eventBounds.propertyValueBytes, 0);
}

/** Beyond 2^53 parsing has made different integers one. */
function numberProblem(value: number): string | undefined {
  if (!Number.isFinite(value)) return "Must be a number that is not too large";
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  return `Must be a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, or its digits as a text`;
}

export function lengthProblem(value: string, maxBytes: number, minLength: number): string | undefined {
  if (value.length < minLength) return "Must not be empty";
  // A UTF-16 code unit takes at most three bytes.
  if (value.length * 3 <= maxBytes || Buffer.byteLength(value) <= maxBytes) return undefined;
  return `Must be at most ${maxBytes} bytes of UTF-8`;
}

const maxWholeDigits = 18;
const maxFractionDigits = 6;

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

type RevenueResult = { revenue: Revenue | null } | { problem: string; path: string[] };

/**
 * Reads the revenue of a custom event: `{"amount": 12.5, "currency": "EUR"}`, with the amount as number or text. It is exact, as
 * it never becomes a floating-point number.
 * @param json a valid JSON value; Plausible's older clients send the object as JSON in a text, and tagged elements without
 *   revenue an empty object
 */
export function readRevenue(json: string): RevenueResult {
  const value: unknown = JSON.parse(json);
  if (value === null) return { revenue: null };
  if (typeof value === "string") return isObjectText(value) ? readRevenue(value) : noObject;
  if (typeof value !== "object" || Array.isArray(value)) return noObject;
  const { amount, currency } = value as Record<string, unknown>;
  if (amount === undefined && currency === undefined) return { revenue: null };
  const written = typeof amount === "number" ? jsonMembers(json, ["amount"]).get("amount") : amount;
  const read = typeof written === "string" ? readDecimal(written) : undefined;
  if (read === undefined) {
    const digits = `${maxWholeDigits} digits before and ${maxFractionDigits} after the point`;
    return { problem: `Must be a number of at most ${digits}, or its text`, path: ["amount"] };
  }
  if (typeof currency === "string" && /^[A-Z]{3}$/.test(currency)) return { revenue: { amount: read, currency } };
  return { problem: "Must be a code of three capital letters (ISO 4217)", path: ["currency"] };
}

const noObject: RevenueResult = { problem: "Must be an object with amount and currency", path: [] };

function isObjectText(text: string): boolean {
  try {
    return text.trimStart().startsWith("{") && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** @returns the decimal without an exponent and without zeros at its ends; undefined for other text or too many digits */
function readDecimal(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = decimal.exec(text) ?? [];
  if (whole === "") return undefined;
  const point = whole.length + Number(exponent);
  const digits = `${"0".repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, "0");
  const [before, after] = [digits.slice(0, Math.max(0, point)).replace(/^0+/, ""), digits.slice(Math.max(0, point))];
  if (before.length > maxWholeDigits || after.length > maxFractionDigits) return undefined;
  const rest = after.replace(/0+$/, "");
  const size = `${before || "0"}${rest === "" ? "" : `.${rest}`}`;
  return size === "0" ? size : sign + size;
}

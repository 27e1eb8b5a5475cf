import { Buffer } from "node:buffer";
import { isUuid } from "@waymark/database";
import { JsonText, parseTimestamp, textProblem } from "@waymark/service/fields";
import { type ListColumn, listColumns } from "../../lists/lists.js";
import { type Channel, channels, cutToBytes } from "../attribution/source-classifier.js";
import type { UserAgent } from "../attribution/user-agent.js";
import {
  type Engagement,
  type EventType,
  eventBounds,
  eventTypes,
  lengthProblem,
  type PropertyValue,
  type Revenue,
  readProperties,
  readRevenue,
} from "../recording/site-event.js";

/** A line of an import; absent fields are null. */
export interface ImportLine {
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: EventType;
  readonly path: string | null;
  /** Without `?`; null for none. */
  readonly query: string | null;
  /** Of an absolute `url`, in lower case and without the port. */
  readonly host: string | null;
  readonly referrer: string | null;
  readonly country: string | null;
  /** The importer's pseudonym. */
  readonly visitor: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly derived: Derived | null;
  /** Where the line names it without a `channel`; no part of the line's id. */
  readonly software: UserAgent | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
  readonly revenue: Revenue | null;
  readonly isInteractive: boolean;
  readonly engagement: Engagement | null;
}

type DerivedColumn = Exclude<ListColumn, "path" | "country" | "referrer">;

const givenColumns: ReadonlySet<string> = new Set(["path", "country", "referrer"]);

/** Recording derives these columns of lists; a line gives the others. */
export const derivedColumns = listColumns.filter((column): column is DerivedColumn => !givenColumns.has(column));

/** Where a line has a `channel`, it gives all derived columns, so an exported site imports as the same figures. */
export interface Derived extends Readonly<Record<DerivedColumn, string | null>> {
  readonly channel: Channel;
}

/** A line, or a sentence about its first problem that starts with the field's name. */
export type ImportLineResult = { ok: true; line: ImportLine } | { ok: false; problem: string };

const unknownCountries = new Set(["", "XX", "ZZ"]);

/** The reader bounds lines, so fields that are not stored as written need no bound. */
const anyLength = Number.POSITIVE_INFINITY;

/** Bytes of UTF-8; no derived text is longer. */
const derivedBytes = 255;

type Written = Readonly<Record<string, unknown>>;

type CustomEvent = Pick<ImportLine, "name" | "props" | "revenue" | "isInteractive">;
const noCustomEvent: CustomEvent = { name: null, props: null, revenue: null, isInteractive: true };

/**
 * Reads the values of one line's fields, and keeps the first problem. By hand: a schema library took a fifth of an import's time,
 * and a look-up by a name that varies takes V8 several times as long as `line["path"]`.
 */
class Fields {
  problem: string | undefined;

  refuse(name: string, problem: string): null {
    this.problem ??= `${name}: ${problem}`;
    return null;
  }

  text(name: string, value: unknown, maxBytes: number, minLength = 0): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value !== "string") return this.refuse(name, "Must be a text");
    const problem = textProblem(value) ?? lengthProblem(value, maxBytes, minLength);
    return problem ? this.refuse(name, problem) : value;
  }

  time(value: unknown): string {
    const written = this.text("ts", value, anyLength);
    if (written === null) return this.refuse("ts", "Required") ?? "";
    const result = parseTimestamp(written);
    if (!result.ok) return this.refuse("ts", result.problem) ?? "";
    return result.value >= "1970" ? result.value : (this.refuse("ts", "Must not lie before 1970, in UTC") ?? "");
  }

  country(value: unknown): string | null {
    const written = this.text("country", value, anyLength)?.trim().toUpperCase();
    if (written === undefined || unknownCountries.has(written)) return null;
    if (/^[A-Z]{2}$/.test(written)) return written;
    return this.refuse("country", "Must be a country code of two letters (ISO 3166-1 alpha-2)");
  }

  visitor(value: unknown): string | null {
    if (typeof value === "number") return String(value);
    if (value === undefined || value === null || typeof value === "string") return this.text("visitor", value, 255, 1);
    return this.refuse("visitor", "Must be a text of 1 to 255 bytes, or a number");
  }

  id(value: unknown): string | null {
    const id = this.text("id", value, anyLength);
    if (id === null || isUuid(id)) return id;
    return this.refuse("id", "Must be an id as 'waymark export' writes it");
  }

  private channel(value: unknown): Channel | null {
    if (value === undefined || value === null) return null;
    return (
      channels.find((channel) => channel === value) ?? this.refuse("channel", `Must be one of: ${channels.join(", ")}`)
    );
  }

  derived(line: Written): Derived | null {
    const channel = this.channel(line["channel"]);
    if (channel === null) return null;
    const texts = derivedColumns
      .filter((column) => column !== "channel")
      .map((column) => [column, this.text(column, line[column], derivedBytes) || null]);
    return { ...(Object.fromEntries(texts) as Record<DerivedColumn, string | null>), channel };
  }

  software(line: Written): UserAgent | null {
    const browser = this.text("browser", line["browser"], derivedBytes) || null;
    const os = this.text("os", line["os"], derivedBytes) || null;
    const device = this.text("device", line["device"], derivedBytes) || null;
    return browser === null && os === null && device === null ? null : sameSoftware(browser, os, device);
  }

  custom(line: Written): CustomEvent {
    return {
      name: this.name(line["name"]),
      props: this.props(line["props"], line["channel"] !== undefined && line["channel"] !== null),
      revenue: this.revenue(line["revenue"]),
      isInteractive: this.isInteractive(line["interactive"] ?? true),
    };
  }

  private name(value: unknown): string | null {
    return this.text("name", value, eventBounds.nameBytes, 1) ?? this.refuse("name", "Required");
  }

  /** An exported event kept the bounds of its own time. */
  private props(value: unknown, isExported: boolean): Record<string, PropertyValue> | null {
    const result = readProperties(value, isExported);
    return "problem" in result ? this.refuse(["props", ...result.path].join("."), result.problem) : result.props;
  }

  private revenue(value: unknown): Revenue | null {
    if (value === undefined || value === null) return null;
    const result = readRevenue(value instanceof JsonText ? value.text : JSON.stringify(value));
    return "problem" in result ? this.refuse(["revenue", ...result.path].join("."), result.problem) : result.revenue;
  }

  private isInteractive(value: unknown): boolean {
    if (typeof value !== "boolean") this.refuse("interactive", "Must be true or false");
    return value !== false;
  }

  engagement(line: Written): Engagement {
    return {
      engagedMs: this.integer("engaged_ms", line["engaged_ms"] ?? null, eventBounds.engagedMs),
      scrollDepth: this.integer("scroll_depth", line["scroll_depth"] ?? null, eventBounds.scrollDepth),
    };
  }

  private integer(name: string, value: unknown, max: number): number | null {
    if (value === null || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max))
      return value as number | null;
    return this.refuse(name, `Must be a whole number from 0 to ${max}`);
  }
}

/** Lines share a few dozen, and equal ones as one object cost a batch less. */
const knownSoftware = new Map<string, UserAgent>();
const maxKnownSoftware = 1_000;

function sameSoftware(browser: string | null, os: string | null, device: string | null): UserAgent {
  const text = `${browser ?? ""}\0${os ?? ""}\0${device ?? ""}`;
  const known = knownSoftware.get(text);
  if (known) return known;
  const software = { browser, os, device };
  if (knownSoftware.size >= maxKnownSoftware) knownSoftware.clear();
  knownSoftware.set(text, software);
  return software;
}

/** Checks a line of an import (README). Null stands for an absent field; further ones are ignored. */
export function readImportLine(value: unknown): ImportLineResult {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("The line must be a JSON object");
  const line = value as Written;
  const type = line["type"] ?? "pageview";
  if (!isEventType(type)) return refuse(`type: Must be one of: ${eventTypes.join(", ")}`);
  const fields = new Fields();
  const isEvent = type === "event";
  const at = fields.time(line["ts"]);
  const path = fields.text("path", line["path"], anyLength, 1);
  const url = fields.text("url", line["url"], anyLength, 1);
  const referrer = fields.text("referrer", line["referrer"], anyLength) || null;
  const country = fields.country(line["country"]);
  const visitor = fields.visitor(line["visitor"]);
  const ip = fields.text("ip", line["ip"], 255) || null;
  const userAgent = fields.text("user_agent", line["user_agent"], anyLength) || null;
  const id = fields.id(line["id"]);
  const derived = fields.derived(line);
  const software = fields.software(line);
  const custom = isEvent ? fields.custom(line) : noCustomEvent;
  const engagement = type === "engagement" ? fields.engagement(line) : null;
  if (fields.problem !== undefined) return refuse(fields.problem);
  // An exported path may contain a `#`.
  const location = derived && path !== null ? { path, query: null, host: null } : readLocation(path, url);
  if ("problem" in location) return refuse(location.problem);
  if (location.path === null && !isEvent) return refuse("path: Required, or else url");
  if (id !== null && !isNear(id, at)) return refuse("id: Must be one of the time that ts gives");
  const { query, host } = location;
  const { name, props, revenue, isInteractive } = custom;
  return {
    ok: true,
    line: {
      at,
      type,
      path: location.path,
      query,
      host,
      referrer,
      country,
      visitor,
      ip,
      userAgent,
      derived,
      software,
      id,
      name,
      props,
      revenue,
      isInteractive,
      engagement,
    },
  };
}

function isEventType(type: unknown): type is EventType {
  return type === "pageview" || type === "event" || type === "engagement";
}

function refuse(problem: string): ImportLineResult {
  return { ok: false, problem };
}

/** Ids start with their event's time; clocks and counters differ by less than an hour. */
function isNear(id: string, at: string): boolean {
  const millis = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  return Math.abs(millis - Date.parse(at)) < 3_600_000;
}

/** The path as written, or a `url`'s path in its normal form, and the query, from the `url` where there is one. */
function readLocation(
  path: string | null,
  url: string | null,
): Pick<ImportLine, "path" | "query" | "host"> | { problem: string } {
  const written = path === null ? null : splitPath(path);
  const visited = url === null ? null : readUrl(url);
  if (visited && "problem" in visited) return visited;
  const location = {
    path: written?.path ?? visited?.path ?? null,
    query: visited?.query ?? written?.query ?? null,
    host: visited?.host ?? null,
  };
  if (location.path !== null && Buffer.byteLength(location.path) > eventBounds.pathBytes) {
    const problem = `Must be at most ${eventBounds.pathBytes} bytes of UTF-8 without the query`;
    return { problem: `${written ? "path" : "url"}: ${problem}` };
  }
  return location;
}

function splitPath(text: string): { path: string; query: string | null } {
  const fragment = text.indexOf("#");
  const location = fragment < 0 ? text : text.slice(0, fragment);
  const mark = location.indexOf("?");
  if (mark < 0) return { path: location || "/", query: null };
  return { path: location.slice(0, mark) || "/", query: location.slice(mark + 1) || null };
}

type Address = (Pick<ImportLine, "query" | "host"> & { readonly path: string }) | { readonly problem: string };

/** Visitors go to the same few pages, and parsing an address takes long. */
const knownUrls = new Map<string, Address>();
const maxKnownUrls = 5_000;
const maxKnownLength = 500;

function readUrl(text: string): Address {
  const known = knownUrls.get(text);
  if (known) return known;
  const address = readNewUrl(text);
  if (text.length > maxKnownLength) return address;
  if (knownUrls.size >= maxKnownUrls) knownUrls.clear();
  knownUrls.set(text, address);
  return address;
}

function readNewUrl(text: string): Address {
  // A URL without a host belongs to the site.
  const noHost = "site.invalid";
  const base = `http://${noHost}`;
  const problem = "url: Must be an http or https URL";
  const url = parseUrl(text, base);
  if (!url) return { problem };
  if (url.protocol !== "http:" && url.protocol !== "https:") return { problem };
  const host = url.hostname === noHost ? null : cutToBytes(url.hostname, eventBounds.hostBytes);
  return { path: url.pathname, query: url.search.slice(1) || null, host };
}

/** Parses once, where `canParse` would do so before. */
function parseUrl(text: string, base: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

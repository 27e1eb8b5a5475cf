import { Buffer } from "node:buffer";
import { isUuid } from "@waymark/database";
import { parseTimestamp, textProblem } from "@waymark/fields";
import { type ListColumn, listColumns } from "@waymark/lists";
import { type Channel, channels } from "../attribution/channels.js";
import { eventBounds, type PropertyValue } from "../recording/site-event.js";

/** A line of an import as it is understood: absent fields are null. */
export interface ImportLine {
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: "pageview" | "event";
  readonly path: string | null;
  /** The query of the visited URL without `?`; null for none. */
  readonly query: string | null;
  readonly referrer: string | null;
  readonly country: string | null;
  /** A pseudonym that the importer chose. */
  readonly visitor: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** What an export knew already, in place of what would be worked out; see `Derived`. */
  readonly derived: Derived | null;
  /** The id that the event had where it was exported. */
  readonly id: string | null;
  /** Of a custom event. */
  readonly name: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
}

type DerivedColumn = Exclude<ListColumn, "path" | "country" | "referrer">;

const givenColumns: ReadonlySet<string> = new Set(["path", "country", "referrer"]);

/** The columns of lists that recording works out; a line gives the others. */
export const derivedColumns = listColumns.filter((column): column is DerivedColumn => !givenColumns.has(column));

/** Where a line has a `channel`, all derived columns are taken from the line, so that an exported site imports as the same figures. */
export interface Derived extends Readonly<Record<DerivedColumn, string | null>> {
  readonly channel: Channel;
}

/** A line that was understood, or the sentence that says what is wrong with it, starting with the field's name. */
export type ImportLineResult = { ok: true; line: ImportLine } | { ok: false; problem: string };

/** Country codes that mean "unknown" to those who write them. */
const unknownCountries = new Set(["", "XX", "ZZ"]);

/** No line is longer than the reader allows, so that fields whose form is not kept need no bound of their own. */
const anyLength = Number.POSITIVE_INFINITY;

/** Bytes of UTF-8 of a derived field at most: as many as are ever derived. */
const derivedBytes = 255;

/**
 * Reads the fields of one line, and keeps the first problem. Written by hand, since it runs for millions of lines: a schema
 * library took a fifth of an import's time.
 */
class Fields {
  problem: string | undefined;

  constructor(private readonly line: Readonly<Record<string, unknown>>) {}

  refuse(name: string, problem: string): null {
    this.problem ??= `${name}: ${problem}`;
    return null;
  }

  /** A text, or null where it is absent or not as it must be. */
  text(name: string, maxBytes: number, minLength = 0): string | null {
    const value = this.line[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== "string") return this.refuse(name, "Must be a text");
    const problem = textProblem(value) ?? lengthProblem(value, maxBytes, minLength);
    return problem ? this.refuse(name, problem) : value;
  }

  time(): string {
    const written = this.text("ts", anyLength);
    if (written === null) return this.refuse("ts", "Required") ?? "";
    const result = parseTimestamp(written);
    if (!result.ok) return this.refuse("ts", result.problem) ?? "";
    return result.value >= "1970" ? result.value : (this.refuse("ts", "Must not lie before 1970, in UTC") ?? "");
  }

  country(): string | null {
    const written = this.text("country", anyLength)?.trim().toUpperCase();
    if (written === undefined || unknownCountries.has(written)) return null;
    if (/^[A-Z]{2}$/.test(written)) return written;
    return this.refuse("country", "Must be a country code of two letters (ISO 3166-1 alpha-2)");
  }

  visitor(): string | null {
    const value = this.line["visitor"];
    if (typeof value === "number") return String(value);
    if (value === undefined || value === null || typeof value === "string") return this.text("visitor", 255, 1);
    return this.refuse("visitor", "Must be a text of 1 to 255 bytes, or a number");
  }

  id(): string | null {
    const value = this.text("id", anyLength);
    if (value === null || isUuid(value)) return value;
    return this.refuse("id", "Must be an id as 'waymark export' writes it");
  }

  channel(): Channel | null {
    const value = this.line["channel"];
    if (value === undefined || value === null) return null;
    return (
      channels.find((channel) => channel === value) ?? this.refuse("channel", `Must be one of: ${channels.join(", ")}`)
    );
  }

  derived(): Derived | null {
    const channel = this.channel();
    if (channel === null) return null;
    const texts = derivedColumns
      .filter((column) => column !== "channel")
      .map((column) => [column, this.text(column, derivedBytes) || null]);
    return { ...(Object.fromEntries(texts) as Record<DerivedColumn, string | null>), channel };
  }

  name(): string | null {
    return this.text("name", eventBounds.nameBytes, 1) ?? this.refuse("name", "Required");
  }

  /** An exported event was within the bounds of its time. */
  props(isExported: boolean): Record<string, PropertyValue> | null {
    const result = readProperties(this.line["props"], isExported ? anyLength : eventBounds.propertiesBytes);
    return "problem" in result ? this.refuse(["props", ...result.path].join("."), result.problem) : result.props;
  }
}

function lengthProblem(value: string, maxBytes: number, minLength: number): string | undefined {
  if (value.length < minLength) return "Must not be empty";
  // A UTF-16 code unit takes at most three bytes.
  if (value.length * 3 <= maxBytes || Buffer.byteLength(value) <= maxBytes) return undefined;
  return `Must be at most ${maxBytes} bytes of UTF-8`;
}

/**
 * Checks one line of an import: `{"ts","type"?,"path"? or "url"?,"referrer"?,"country"?,"visitor"? or "ip"?+"user_agent"?,
 * "name"? and "props"? for events}`, and what an export adds. Null stands for an absent field; further fields are ignored,
 * as are the name and properties of a page view.
 * @param value parsed JSON, whatever it is
 */
export function readImportLine(value: unknown): ImportLineResult {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("The line must be a JSON object");
  const line = value as Readonly<Record<string, unknown>>;
  const type = line["type"] ?? "pageview";
  if (type !== "pageview" && type !== "event") return refuse("type: Must be one of: pageview, event");
  const fields = new Fields(line);
  const isEvent = type === "event";
  const at = fields.time();
  const path = fields.text("path", anyLength, 1);
  const url = fields.text("url", anyLength, 1);
  const understood = {
    at,
    type,
    referrer: fields.text("referrer", anyLength) || null,
    country: fields.country(),
    visitor: fields.visitor(),
    ip: fields.text("ip", 255) || null,
    userAgent: fields.text("user_agent", anyLength) || null,
    id: fields.id(),
    derived: fields.derived(),
    name: isEvent ? fields.name() : null,
    props: isEvent ? fields.props(line["channel"] !== undefined && line["channel"] !== null) : null,
  } as const;
  if (fields.problem !== undefined) return refuse(fields.problem);
  // An exported path is one that was read before, and may hold a # that belongs to it.
  const place = understood.derived && path !== null ? { path, query: null } : readPlace(path, url);
  if ("problem" in place) return refuse(place.problem);
  if (place.path === null && !isEvent) return refuse("path: Required, or else url");
  if (understood.id !== null && !isNear(understood.id, at)) return refuse("id: Must be one of the time that ts gives");
  return { ok: true, line: { ...understood, path: place.path, query: place.query } };
}

function refuse(problem: string): ImportLineResult {
  return { ok: false, problem };
}

/** Ids are made at the time of their event; an hour is more than clocks and counters drift apart. */
function isNear(id: string, at: string): boolean {
  const millis = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  return Math.abs(millis - Date.parse(at)) < 3_600_000;
}

/**
 * The path without query and fragment, and the query. `path` is kept as written; of a `url` the path is taken in its
 * normal form. Where both are given, the path comes from `path` and the query from `url`.
 */
function readPlace(path: string | null, url: string | null): Pick<ImportLine, "path" | "query"> | { problem: string } {
  const written = path === null ? null : splitPath(path);
  const visited = url === null ? null : readUrl(url);
  if (visited && "problem" in visited) return visited;
  const place = { path: written?.path ?? visited?.path ?? null, query: visited?.query ?? written?.query ?? null };
  if (place.path !== null && Buffer.byteLength(place.path) > eventBounds.pathBytes) {
    const problem = `Must be at most ${eventBounds.pathBytes} bytes of UTF-8 without the query`;
    return { problem: `${written ? "path" : "url"}: ${problem}` };
  }
  return place;
}

function splitPath(text: string): { path: string; query: string | null } {
  const fragment = text.indexOf("#");
  const place = fragment < 0 ? text : text.slice(0, fragment);
  const mark = place.indexOf("?");
  if (mark < 0) return { path: place || "/", query: null };
  return { path: place.slice(0, mark) || "/", query: place.slice(mark + 1) || null };
}

function readUrl(text: string): { path: string; query: string | null } | { problem: string } {
  // A URL without a host is one of the site itself, whichever that is.
  const base = "http://site.invalid";
  const problem = "url: Must be an http or https URL";
  if (!URL.canParse(text, base)) return { problem };
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") return { problem };
  return { path: url.pathname, query: url.search.slice(1) || null };
}

export type PropertiesResult = { props: Record<string, PropertyValue> | null } | { problem: string; path: string[] };

/**
 * Checks the properties of a custom event: texts, numbers, true and false, within `eventBounds`; null is left out.
 * @param value parsed JSON, whatever it is
 * @param maxBytes of all properties together, as JSON
 * @returns the properties, null for none; or what is wrong with which of them, `path` being empty for all together
 */
export function readProperties(value: unknown, maxBytes: number = eventBounds.propertiesBytes): PropertiesResult {
  if (value === null || value === undefined) return { props: null };
  if (typeof value !== "object" || Array.isArray(value)) return { problem: "Must be a JSON object", path: [] };
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.length > eventBounds.properties) {
    return { problem: `Must have at most ${eventBounds.properties} properties`, path: [] };
  }
  for (const [name, each] of entries) {
    const nameProblem = textProblem(name) ?? lengthProblem(name, eventBounds.propertyNameBytes, 1);
    if (nameProblem) return { problem: `The name of a property: ${nameProblem}`, path: [] };
    const problem = valueProblem(each);
    if (problem) return { problem, path: [name] };
  }
  // Not an assignment per name: that would lose a property called __proto__.
  const props = Object.fromEntries(entries);
  if (Buffer.byteLength(JSON.stringify(props)) > maxBytes) {
    return { problem: `Must be at most ${maxBytes} bytes of JSON in all`, path: [] };
  }
  return { props: entries.length === 0 ? null : props };
}

function valueProblem(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "Must be a number that is not too large";
  if (typeof value !== "string") return "Must be a text, a number, true or false; lists and objects are not kept";
  return textProblem(value) ?? lengthProblem(value, eventBounds.propertyValueBytes, 0);
}

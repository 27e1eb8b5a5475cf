import { Buffer } from "node:buffer";
import { isUuid } from "@waymark/database";
import { parseTimestamp, textProblem } from "@waymark/fields";
import { z } from "zod";
import { type Channel, channels } from "./channels.js";
import { eventBounds, type PropertyValue } from "./site-event.js";

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

/**
 * What an export says of an event besides what a client sent. Where a line has a `channel`, all of it is taken from the line, so
 * that an exported site imports as the same figures.
 */
export interface Derived {
  readonly source: string | null;
  readonly channel: Channel;
  readonly browser: string | null;
  readonly os: string | null;
  readonly device: string | null;
  readonly utmSource: string | null;
  readonly utmMedium: string | null;
  readonly utmCampaign: string | null;
}

/** A line that was understood, or the sentence that says what is wrong with it, starting with the field's name. */
export type ImportLineResult = { ok: true; line: ImportLine } | { ok: false; problem: string };

/** Country codes that mean "unknown" to those who write them. */
const unknownCountries = new Set(["", "XX", "ZZ"]);

function text(maxBytes: number, minLength = 0) {
  return z.string().superRefine((value, context) => {
    const problem = textProblem(value) ?? lengthProblem(value, maxBytes, minLength);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });
}

function lengthProblem(value: string, maxBytes: number, minLength: number): string | undefined {
  if (value.length < minLength) return "Must not be empty";
  if (Buffer.byteLength(value) > maxBytes) return `Must be at most ${maxBytes} bytes of UTF-8`;
  return undefined;
}

const timestamp = z.string().transform((value, context) => {
  const result = parseTimestamp(value);
  if (result.ok && result.value >= "1970") return result.value;
  context.addIssue({ code: "custom", message: result.ok ? "Must not lie before 1970, in UTC" : result.problem });
  return z.NEVER;
});

const country = z
  .string()
  .transform((value) => value.trim().toUpperCase())
  .refine(
    (value) => value === "" || /^[A-Z]{2}$/.test(value),
    "Must be a country code of two letters (ISO 3166-1 alpha-2)",
  )
  .transform((value) => (unknownCountries.has(value) ? null : value));

const visitor = z.union([text(255, 1), z.number().transform(String)], {
  error: "Must be a text of 1 to 255 bytes, or a number",
});

const props = z.unknown().transform((value, context): Record<string, PropertyValue> | null => {
  const result = readProperties(value);
  if (!("problem" in result)) return result.props;
  context.addIssue({ code: "custom", message: result.problem, path: result.path });
  return z.NEVER;
});

/** No line is longer than the reader allows, so that fields whose form is not kept need no bound of their own. */
const anyLength = Number.POSITIVE_INFINITY;

/** Bytes of UTF-8 of a derived field at most: as many as are ever derived. */
const derivedBytes = 255;

const common = {
  ts: timestamp,
  path: text(anyLength, 1).nullish(),
  url: text(anyLength, 1).nullish(),
  referrer: text(anyLength).nullish(),
  country: country.nullish(),
  visitor: visitor.nullish(),
  ip: text(255).nullish(),
  user_agent: text(anyLength).nullish(),
  id: z.string().refine(isUuid, "Must be an id as 'waymark export' writes it").nullish(),
  channel: z.enum(channels, { error: `Must be one of: ${channels.join(", ")}` }).nullish(),
  source: text(derivedBytes).nullish(),
  browser: text(derivedBytes).nullish(),
  os: text(derivedBytes).nullish(),
  device: text(derivedBytes).nullish(),
  utm_source: text(derivedBytes).nullish(),
  utm_medium: text(derivedBytes).nullish(),
  utm_campaign: text(derivedBytes).nullish(),
};
const pageView = z.object({ ...common, type: z.literal("pageview").nullish() });
const customEvent = z.object({
  ...common,
  type: z.literal("event"),
  name: text(eventBounds.nameBytes, 1),
  props: props.nullish(),
});

/**
 * Checks one line of an import: `{"ts","type"?,"path"? or "url"?,"referrer"?,"country"?,"visitor"? or "ip"?+"user_agent"?,
 * "name"? and "props"? for events}`. Null stands for an absent field; further fields are ignored, as are the name and
 * properties of a page view.
 * @param value parsed JSON, whatever it is
 */
export function readImportLine(value: unknown): ImportLineResult {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("The line must be a JSON object");
  const { type } = value as { type?: unknown };
  if (type !== undefined && type !== null && type !== "pageview" && type !== "event") {
    return refuse("type: Must be one of: pageview, event");
  }
  const schema = type === "event" ? customEvent : pageView;
  const result = schema.safeParse(value, { error: describe });
  if (!result.success) {
    const issue = result.error.issues[0];
    return refuse(`${issue?.path.join(".")}: ${issue?.message}`);
  }
  return complete(result.data);
}

function refuse(problem: string): ImportLineResult {
  return { ok: false, problem };
}

/** What two fields say together: where the page is, and whose visit it was. */
function complete(fields: z.output<typeof pageView> | z.output<typeof customEvent>): ImportLineResult {
  // An exported path is one that was read before, and may hold a # that belongs to it.
  const exported = fields.channel && fields.path ? { path: fields.path, query: null } : undefined;
  const place = exported ?? readPlace(fields.path ?? null, fields.url ?? null);
  if ("problem" in place) return refuse(place.problem);
  if (fields.id && !isNear(fields.id, fields.ts)) return refuse("id: Must be one of the time that ts gives");
  const isEvent = fields.type === "event";
  if (place.path === null && !isEvent) return refuse("path: Required, or else url");
  const line: ImportLine = {
    at: fields.ts,
    type: isEvent ? "event" : "pageview",
    ...place,
    referrer: fields.referrer || null,
    country: fields.country ?? null,
    visitor: fields.visitor ?? null,
    ip: fields.ip || null,
    userAgent: fields.user_agent || null,
    derived: fields.channel ? readDerived(fields, fields.channel) : null,
    id: fields.id ?? null,
    name: isEvent ? fields.name : null,
    props: isEvent ? (fields.props ?? null) : null,
  };
  return { ok: true, line };
}

/** Ids are made at the time of their event; an hour is more than clocks and counters drift apart. */
function isNear(id: string, at: string): boolean {
  const millis = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  return Math.abs(millis - Date.parse(at)) < 3_600_000;
}

function readDerived(fields: z.output<typeof pageView> | z.output<typeof customEvent>, channel: Channel): Derived {
  return {
    source: fields.source || null,
    channel,
    browser: fields.browser || null,
    os: fields.os || null,
    device: fields.device || null,
    utmSource: fields.utm_source || null,
    utmMedium: fields.utm_medium || null,
    utmCampaign: fields.utm_campaign || null,
  };
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

type PropertiesResult = { props: Record<string, PropertyValue> | null } | { problem: string; path: string[] };

function readProperties(value: unknown): PropertiesResult {
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
  return { props: entries.length === 0 ? null : Object.fromEntries(entries) };
}

function valueProblem(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "Must be a number that is not too large";
  if (typeof value !== "string") return "Must be a text, a number, true or false; lists and objects are not kept";
  return textProblem(value) ?? lengthProblem(value, eventBounds.propertyValueBytes, 0);
}

/** The sentence for an issue that has none of its own. */
function describe(issue: Parameters<z.core.$ZodErrorMap>[0]): string | undefined {
  if (issue.code === "custom" || issue.code === "invalid_union") return undefined;
  if (issue.input === undefined || issue.input === null) return "Required";
  if (issue.code === "invalid_type") return `Must be a ${issue.expected === "string" ? "text" : issue.expected}`;
  return undefined;
}

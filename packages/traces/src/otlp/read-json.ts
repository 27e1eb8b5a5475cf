import {
  type AnyValue,
  type Id,
  type KeyValue,
  MalformedRequest,
  maxMembersOfOne,
  maxValueDepth,
  type Unsigned64,
} from "./request.js";

type JsonObject = Readonly<Record<string, unknown>>;

/** Stands for an invalid id: no id has this length. */
const wrongId = "00";
const wrongUnsigned64: Unsigned64 = { low: Number.NaN, high: Number.NaN };
const zero: Unsigned64 = { low: 0, high: 0 };
const maxUnsigned64 = (1n << 64n) - 1n;

/**
 * Members of all lists of a request. An empty span takes three bytes of JSON and a hundred times that in memory. The
 * shortest attribute takes 34 bytes, so 4 MiB of real spans pass.
 */
const maxMembers = 200_000;
/** Reading objects of as many members takes a millisecond. */
const membersPerStep = 2_000;

interface Seen {
  /** Members of the request's lists. */
  listed: number;
  /** The most that there may be after the span at hand. */
  mostListed: number;
  /** Members of its objects. */
  members: number;
  /** Whether its long 64-bit numbers are strings. */
  isQuoted: boolean;
}

/** Of the request whose step runs. */
let seen: Seen = { listed: 0, mostListed: 0, members: 0, isQuoted: false };

/**
 * A trace request from either reader: the fields that Waymark uses of the messages in `opentelemetry/proto/trace/v1/trace.proto`
 * and `common.proto`, as protobufjs decodes them. A span with too many members is null.
 */
export interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: ReturnType<typeof readResource>;
    readonly scopeSpans: readonly { readonly scope: Scope | null; readonly spans: readonly ReadSpan[] }[];
  }[];
}
export type ReadSpan = OtlpSpan | null | SpanReader;
/** Reads a short span when its turn comes: few are in memory at once, and garbage collection copies none. @throws MalformedRequest */
export type SpanReader = () => OtlpSpan | null;
/** The same of `logs/v1/logs.proto`. */
export interface LogsRequest {
  readonly resourceLogs: readonly {
    readonly resource: ReturnType<typeof readResource>;
    readonly scopeLogs: readonly { readonly scope: Scope | null; readonly logRecords: readonly (LogRecord | null)[] }[];
  }[];
}
/** The data points of `metrics/v1/metrics.proto`, to count them. */
interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly (ReturnType<typeof readMetric> | null)[] }[];
  }[];
}
export interface Requests {
  traces: TraceRequest;
  logs: LogsRequest;
  metrics: MetricsRequest;
}
export type Signal = keyof Requests;
export type LogRecord = ReturnType<typeof readLogRecord>;
export type Scope = NonNullable<ReturnType<typeof readScope>>;
export type OtlpSpan = ReturnType<typeof readSpan>;
export type SpanEvent = ReturnType<typeof readEvent>;
export type SpanLink = ReturnType<typeof readLink>;

interface ReadRequest<Of extends Signal> {
  request: Requests[Of];
  /** Members of the objects read so far. With fewer than in the text some are unknown objects', or repeated. */
  members(): number;
}

/** A number is beyond 2^53, and the parser may have rounded it; {@link quoteNumbers} keeps it. */
export class RoundedNumber extends Error {}

export const spanKinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"] as const;
const statusCodes = ["UNSET", "OK", "ERROR"] as const;
const severities = [
  "UNSPECIFIED",
  ...["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].flatMap((level) => [
    level,
    `${level}2`,
    `${level}3`,
    `${level}4`,
  ]),
];
export const metricKinds = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;

/** The lists of each signal's request, in each other, and what reads a member of the innermost. */
const levels = {
  traces: { resources: "resourceSpans", scopes: "scopeSpans", items: "spans", read: readSpan },
  logs: { resources: "resourceLogs", scopes: "scopeLogs", items: "logRecords", read: readLogRecord },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", items: "metrics", read: readMetric },
} as const satisfies Record<Signal, object>;

/**
 * Reads OTLP/JSON (OTLP specification, "JSON Protobuf Encoding"): names in lowerCamelCase, ids in hexadecimal of any case,
 * 64-bit numbers as strings or numbers, enums as numbers or names. Unknown members are ignored; null means absent.
 * @param body the parsed JSON; spans may be functions that parse them
 * @param isQuoted whether {@link quoteNumbers} was used
 * @returns a generator that yields between steps
 * @throws MalformedRequest where a member has the wrong type, values nest too deeply, or lists have too many members;
 * RoundedNumber unless `isQuoted`; SyntaxError by a reader
 */
export function* readJson<Of extends Signal>(
  signal: Of,
  body: unknown,
  isQuoted = false,
): Generator<void, ReadRequest<Of>> {
  const own: Seen = { listed: 0, mostListed: 0, members: 0, isQuoted };
  seen = own;
  let [listed, nextStep] = [0, membersPerStep];
  function* pause() {
    if (own.members + listed < nextStep) return;
    nextStep = own.members + listed + membersPerStep;
    yield;
    seen = own;
  }
  const { resources, scopes, items, read } = levels[signal];
  const readItem = (item: unknown) => oneOrNull(read, object(item, `Each of ${items}`));
  const readLater = (parse: () => unknown) => {
    seen = own;
    return readItem(parse());
  };
  const resourcesRead = [];
  for (const eachResource of membersOf(object(body, "The body"), resources)) {
    const scopesRead = [];
    for (const eachScope of membersOf(eachResource, scopes)) {
      const itemsRead = [];
      for (const item of elementsOf(eachScope, items)) {
        itemsRead.push(typeof item === "function" ? () => readLater(item as () => unknown) : readItem(item));
        listed++;
        yield* pause();
      }
      scopesRead.push({ scope: one(readScope, eachScope), [items]: itemsRead });
      yield* pause();
    }
    resourcesRead.push({ resource: one(readResource, eachResource), [scopes]: scopesRead });
    yield* pause();
  }
  const request = { [resources]: resourcesRead } as unknown as Requests[Of];
  return { request, members: () => own.members };
}

/** The list in an OTLP/JSON body whose members have readers, see `parseInPieces`. */
export function readersAt(signal: Signal): readonly string[] | undefined {
  const { resources, scopes, items } = levels[signal];
  return signal === "traces" ? [resources, scopes, items] : undefined;
}

/** A span, log record, resource or scope has too many members. */
class TooLarge extends MalformedRequest {}

function one<Read>(read: (json: JsonObject) => Read, json: JsonObject): Read {
  seen.mostListed = seen.listed + maxMembersOfOne;
  return read(json);
}

function oneOrNull(read: (json: JsonObject) => unknown, json: JsonObject): unknown {
  try {
    return one(read, json);
  } catch (error) {
    if (error instanceof TooLarge) return null;
    throw error;
  }
}

/** A valid JSON text with its long 64-bit numbers as strings, for {@link readJson}. A string has no bare quotes to match. */
export function quoteNumbers(json: string): string {
  return json.replace(
    /"(intValue|startTimeUnixNano|endTimeUnixNano|timeUnixNano|observedTimeUnixNano)"(\s*:\s*)(-?\d[\d.eE+-]{11,})/g,
    '"$1"$2"$3"',
  );
}

function readResource({ resource }: JsonObject) {
  return absent(resource) ? null : { attributes: attributes(object(resource, "resource")) };
}

function readScope({ scope }: JsonObject) {
  if (absent(scope)) return null;
  const json = object(scope, "scope");
  return { name: text(json, "name"), version: text(json, "version"), attributes: attributes(json) };
}

function readSpan(json: JsonObject) {
  const { status } = json;
  return {
    traceId: id(json, "traceId"),
    spanId: id(json, "spanId"),
    parentSpanId: id(json, "parentSpanId"),
    flags: count(json, "flags"),
    traceState: text(json, "traceState"),
    name: text(json, "name"),
    kind: enumeration(json, "kind", "SPAN_KIND_", spanKinds),
    startTimeUnixNano: unsigned64(json["startTimeUnixNano"]),
    endTimeUnixNano: unsigned64(json["endTimeUnixNano"]),
    attributes: attributes(json),
    droppedAttributesCount: count(json, "droppedAttributesCount"),
    events: list(json, "events", readEvent),
    droppedEventsCount: count(json, "droppedEventsCount"),
    links: list(json, "links", readLink),
    droppedLinksCount: count(json, "droppedLinksCount"),
    status: absent(status) ? null : readStatus(object(status, "status")),
  };
}

function readLogRecord(json: JsonObject) {
  const { body } = json;
  return {
    traceId: id(json, "traceId"),
    spanId: id(json, "spanId"),
    timeUnixNano: unsigned64(json["timeUnixNano"]),
    observedTimeUnixNano: unsigned64(json["observedTimeUnixNano"]),
    severityNumber: enumeration(json, "severityNumber", "SEVERITY_NUMBER_", severities),
    severityText: text(json, "severityText"),
    eventName: text(json, "eventName"),
    body: absent(body) ? null : readAnyValue(object(body, "body"), 0),
    attributes: attributes(json),
  };
}

function readMetric(json: JsonObject) {
  const metric: Partial<Record<(typeof metricKinds)[number], { dataPoints: readonly unknown[] }>> = {};
  for (const kind of metricKinds)
    if (!absent(json[kind])) metric[kind] = { dataPoints: elementsOf(object(json[kind], kind), "dataPoints") };
  return metric;
}

function readStatus(json: JsonObject) {
  return { code: enumeration(json, "code", "STATUS_CODE_", statusCodes), message: text(json, "message") };
}

function readEvent(json: JsonObject) {
  return {
    timeUnixNano: unsigned64(json["timeUnixNano"]),
    name: text(json, "name"),
    attributes: attributes(json),
  };
}

function readLink(json: JsonObject) {
  return {
    traceId: id(json, "traceId"),
    spanId: id(json, "spanId"),
    traceState: text(json, "traceState"),
    attributes: attributes(json),
  };
}

function attributes(json: JsonObject): readonly KeyValue[] {
  return list(json, "attributes", (member) => readKeyValue(member, 0));
}

function readKeyValue(json: JsonObject, depth: number): KeyValue {
  const { value } = json;
  return { key: text(json, "key"), value: absent(value) ? null : readAnyValue(object(value, "value"), depth) };
}

function readAnyValue(json: JsonObject, depth: number): AnyValue {
  if (depth > maxValueDepth) throw new MalformedRequest(`Values must not nest deeper than ${maxValueDepth} levels`);
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = json;
  if (!absent(stringValue)) return { value: "stringValue", stringValue: text(json, "stringValue") };
  if (!absent(boolValue)) {
    if (typeof boolValue !== "boolean") throw wrongType("boolValue", "true or false");
    return { value: "boolValue", boolValue };
  }
  if (!absent(intValue)) return { value: "intValue", intValue: integer(intValue) };
  if (!absent(doubleValue)) return { value: "doubleValue", doubleValue: double(doubleValue) };
  if (!absent(arrayValue)) {
    const values = list(object(arrayValue, "arrayValue"), "values", (member) => readAnyValue(member, depth + 1));
    return { value: "arrayValue", arrayValue: { values } };
  }
  if (!absent(kvlistValue)) {
    const values = list(object(kvlistValue, "kvlistValue"), "values", (member) => readKeyValue(member, depth + 1));
    return { value: "kvlistValue", kvlistValue: { values } };
  }
  if (!absent(bytesValue)) {
    return { value: "bytesValue", bytesValue: Buffer.from(text(json, "bytesValue"), "base64") };
  }
  return {};
}

function absent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function wrongType(name: string, kind: string): MalformedRequest {
  return new MalformedRequest(`${name} must be ${kind}`);
}

function object(value: unknown, name: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrongType(name, "a JSON object");
  // Without a list of the names: a request of 4 MiB has a hundred thousand objects.
  for (const _ in value) seen.members++;
  return value as JsonObject;
}

function list<Member>(json: JsonObject, name: string, read: (member: JsonObject) => Member): Member[] {
  const members = elementsOf(json, name);
  if (seen.listed > seen.mostListed)
    throw new TooLarge(`A resource or scope must not have more than ${maxMembersOfOne} members in its lists`);
  return members.map((member) => read(object(member, `Each of ${name}`)));
}

function* membersOf(json: JsonObject, name: string): Generator<JsonObject> {
  for (const member of elementsOf(json, name)) yield object(member, `Each of ${name}`);
}

function elementsOf(json: JsonObject, name: string): readonly unknown[] {
  const value = json[name];
  if (absent(value)) return [];
  if (!Array.isArray(value)) throw wrongType(name, "an array");
  seen.listed += value.length;
  if (seen.listed > maxMembers)
    throw new MalformedRequest(`There must not be more than ${maxMembers} members in all lists`);
  return value;
}

function text(json: JsonObject, name: string): string {
  const value = json[name];
  if (absent(value)) return "";
  if (typeof value !== "string") throw wrongType(name, "a string");
  return value;
}

/** An invalid id gets a wrong length: it makes its span invalid, not the request. */
function id(json: JsonObject, name: string): Id {
  const value = json[name];
  if (absent(value)) return "";
  if (typeof value !== "string") throw wrongType(name, "a string");
  return value.length % 2 === 0 && /^[0-9a-f]*$/i.test(value) ? value.toLowerCase() : wrongId;
}

function count(json: JsonObject, name: string): number {
  const value = json[name] ?? 0;
  const isWhole = typeof value === "number" || typeof value === "string" ? Number.isInteger(Number(value)) : false;
  if (!isWhole) throw wrongType(name, "a whole number");
  return Number(value);
}

function enumeration(json: JsonObject, name: string, prefix: string, names: readonly string[]): number {
  const value = json[name];
  if (absent(value)) return 0;
  if (typeof value === "number" && Number.isInteger(value)) return value;
  const number = typeof value === "string" && value.startsWith(prefix) ? names.indexOf(value.slice(prefix.length)) : -1;
  if (number < 0) throw wrongType(name, `a number, or a name such as ${prefix}${names[1]}`);
  return number;
}

/** A whole number of at most 40 digits before and after the point; undefined for other values. */
function whole(value: unknown): bigint | undefined {
  if (typeof value === "number") {
    if (!Number.isInteger(value)) return undefined;
    if (!seen.isQuoted && !Number.isSafeInteger(value)) throw new RoundedNumber();
    return BigInt(value);
  }
  if (typeof value !== "string") return undefined;
  if (/^-?\d{1,20}$/.test(value)) return BigInt(value);
  const [, digits, places = "", exponent = "0"] =
    /^(-?\d{1,40})(?:\.(\d{1,40}))?(?:e\+?(-?\d{1,2}))?$/i.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const shift = Number(exponent) - places.length;
  const all = BigInt(digits + places);
  const unit = 10n ** BigInt(Math.abs(shift));
  if (shift >= 0) return all * unit;
  return all % unit === 0n ? all / unit : undefined;
}

function integer(value: unknown): string {
  const number = whole(value);
  if (number !== undefined && number >= -maxUnsigned64 && number <= maxUnsigned64) return String(number);
  throw wrongType("intValue", "a whole number, as a number or a string");
}

function double(value: unknown): number {
  if (typeof value === "number") return value;
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  throw wrongType("doubleValue", "a number");
}

function unsigned64(value: unknown): Unsigned64 {
  if (absent(value)) return zero;
  const bits = whole(value);
  if (bits === undefined || bits < 0n || bits > maxUnsigned64) return wrongUnsigned64;
  return { low: Number(bits & 0xffffffffn), high: Number(bits >> 32n) };
}

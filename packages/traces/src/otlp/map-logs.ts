import { createHash } from "node:crypto";
import { formatUuid } from "@waymark/database";
import { answerOf, claudeTrace, codexTrace, eventOf, type Told, toldBy } from "./agent-events.js";
import { jsonOfAttributes, jsonOfValue, storableText, textOfValue } from "./any-value.js";
import { findLogContent } from "./content.js";
import { detailsEvent, eventSources } from "./conventions.js";
import { exceptionError, type MappedSpan, mapRequest, maxAttributesBytes } from "./map-request.js";
import type { LogRecord, LogsRequest, OtlpSpan } from "./read-json.js";
import { hex, idText, maxMembersOfOne, type Unsigned64 } from "./request.js";
import { isTime, isUnset, timeOfNanos } from "./time.js";

/** A log record for the span that it names. Its texts are JSON but for `name` and `error`. */
export interface MappedLog {
  /** OpenTelemetry's ids, in lower-case hexadecimal. */
  traceId: string;
  spanId: string;
  /** A UUID from the record's content: the same record has the same one. */
  id: string;
  /** Nanoseconds since 1970 in decimal, 0 without a time; then `place`, that in the request, orders the records of a span. */
  nanos: string;
  place: number;
  name: string;
  /** What the span keeps of it: an object like an event's, without the contents below. */
  event: Buffer;
  input: Buffer | null;
  output: Buffer | null;
  error: string | null;
}

/** A mapped request: its records, the spans of agents' events, and the number of other records by reason, a sentence without its full stop. */
export interface MappedLogs {
  logs: MappedLog[];
  spans: MappedSpan[];
  refused: ReadonlyMap<string, number>;
}

const maxNameLength = 1_000;
/** Bounds the memory of a request. 4 MiB hold as many records of 140 bytes. */
const maxLogs = 30_000;
/** The name of a record that has none: a line of an ordinary log. */
const namelessLog = "log";
/** The last nanosecond that 63 bits hold, in the year 2262. */
const maxNanos = (1n << 63n) - 1n;

const problems = {
  logs: `a request must not have more than ${maxLogs} log records`,
  span: "a log record is kept with its span, and must name it by trace_id and span_id",
  session: "an agent's event must have session.id (Claude Code) or conversation.id (Codex)",
  time: "time_unix_nano and observed_time_unix_nano must be whole numbers of 64 bits before the year 2262",
  members: `a log record must not have more than ${maxMembersOfOne} attributes and values in lists`,
  size: `a log record must not take more than ${maxAttributesBytes} bytes as JSON`,
} as const;

/** The last prompt before the request's events of a Codex conversation, in nanoseconds since 1970. */
export type EarlierPrompts = ReadonlyMap<string, bigint>;

/** The earliest event of each Codex conversation, since a prompt's events do not name it. Yields between steps. */
export function* codexStarts(
  request: LogsRequest,
): Generator<void, { request: LogsRequest; starts: Map<string, bigint> }> {
  const starts = new Map<string, bigint>();
  let place = 0;
  for (const { scopeLogs } of request.resourceLogs) {
    for (const record of scopeLogs.flatMap(({ logRecords }) => logRecords)) {
      if (++place > maxLogs) return { request, starts };
      yield;
      const told = !record || namesSpan(record) ? undefined : toldBy(record, nameOf(record), nanosOf(timeOf(record)));
      if (told?.agent !== "codex" || told.session === "") continue;
      const start = starts.get(told.session);
      if (start === undefined || told.nanos < start) starts.set(told.session, told.nanos);
    }
  }
  return { request, starts };
}

/** Counts the records that cannot be kept. Yields between steps, so that other work can run. */
export function* mapLogs({ resourceLogs }: LogsRequest, earlier: EarlierPrompts): Generator<void, MappedLogs> {
  const logs: MappedLog[] = [];
  const refused = new Map<string, number>();
  const told: (Told & { resource: number; place: number })[] = [];
  const add = (mapped: MappedLog | string) => {
    if (typeof mapped !== "string") logs.push(mapped);
    else refused.set(mapped, (refused.get(mapped) ?? 0) + 1);
  };
  let place = 0;
  for (const [resource, { scopeLogs }] of resourceLogs.entries()) {
    for (const record of scopeLogs.flatMap(({ logRecords }) => logRecords)) {
      place++;
      yield;
      const event = !record || namesSpan(record) ? undefined : toldBy(record, nameOf(record), nanosOf(timeOf(record)));
      if (place > maxLogs) add(problems.logs);
      else if (!record) add(problems.members);
      else if (!event) add(mapLog(answerOf(record), place));
      else if (!hasTime(record)) add(problems.time);
      else if (event.session === "") add(problems.session);
      else told.push({ ...event, resource, place });
    }
  }
  const runs: OtlpSpan[][] = resourceLogs.map(() => []);
  const codexTraceOf = createCodexTraces(told, earlier);
  for (const event of told) {
    yield;
    const made = eventOf(event, event.agent === "codex" ? codexTraceOf(event) : claudeTrace(event));
    runs[event.resource]?.push(...made.spans);
    for (const record of made.logs) add(mapLog(record, event.place));
  }
  const resourceSpans = resourceLogs.map(({ resource }, n) => ({
    resource,
    scopeSpans: [{ scope: null, spans: runs[n] ?? [] }],
  }));
  const mapped = yield* mapRequest({ resourceSpans });
  for (const [problem, count] of mapped.refused) refused.set(problem, (refused.get(problem) ?? 0) + count);
  return { logs, spans: mapped.spans, refused };
}

/** Finds the trace of a Codex event: that of the last prompt before it, else of the first one after it. */
function createCodexTraces(told: readonly Told[], earlier: EarlierPrompts): (event: Told) => Buffer {
  const found = new Map<string, bigint[]>();
  for (const { agent, kind, session, nanos } of told) {
    if (agent !== "codex" || kind !== "user_prompt") continue;
    const list = found.get(session);
    if (list) list.push(nanos);
    else found.set(session, [nanos]);
  }
  const prompts = new Map([...found].map(([session, list]) => [session, BigUint64Array.from(list).sort()]));
  return ({ session, nanos }) => {
    const own = prompts.get(session) ?? new BigUint64Array();
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((own[middle] ?? 0n) <= nanos) low = middle + 1;
      else high = middle;
    }
    const last = own[low - 1] ?? earlier.get(session) ?? own[0] ?? 0n;
    return codexTrace(session, last);
  };
}

function namesSpan({ traceId, spanId }: LogRecord): boolean {
  return Boolean(idText(traceId, 16) && idText(spanId, 8));
}

function timeOf({ timeUnixNano, observedTimeUnixNano }: LogRecord): Unsigned64 {
  return isUnset(timeUnixNano) ? observedTimeUnixNano : timeUnixNano;
}

function hasTime(record: LogRecord): boolean {
  const { timeUnixNano, observedTimeUnixNano } = record;
  return isTime(timeUnixNano) && isTime(observedTimeUnixNano) && nanosOf(timeOf(record)) <= maxNanos;
}

/** The record, or the reason why it cannot be kept. */
function mapLog(record: LogRecord, place: number): MappedLog | string {
  if (!namesSpan(record)) return problems.span;
  if (!hasTime(record)) return problems.time;
  const { traceId, spanId } = record;
  const time = timeOf(record);
  const nanos = nanosOf(time);
  const name = nameOf(record);
  const { input, output, attributes, body } = findLogContent(name, record);
  const event = Buffer.from(jsonOfLog(record, { name, time, attributes: jsonOfAttributes(attributes), body }));
  const texts = [event, bytesOf(input), bytesOf(output)] as const;
  const error = name === "exception" ? exceptionError(record.attributes) : null;
  if (texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) > maxAttributesBytes) return problems.size;
  const hash = createHash("sha256").update(String(nanos));
  for (const text of texts) hash.update("\0").update(text ?? "");
  return {
    traceId: hex(traceId),
    spanId: hex(spanId),
    id: formatUuid(hash.digest()),
    nanos: String(nanos),
    place,
    name,
    event,
    input: texts[1],
    output: texts[2],
    error,
  };
}

const bytesOf = (json: string | null) => (json === null ? null : Buffer.from(json));

/** Rust's `tracing`, and with it Codex, names an event by its place in the source. */
const sourcePlace = /^event \S+:\d+$/;

/** An event's name has a field of its own since OTLP 1.6, and was an attribute before. */
function nameOf({ eventName, attributes }: LogRecord): string {
  const named =
    (!sourcePlace.test(eventName) && eventName) ||
    textOfValue(attributes.find(({ key }) => key === "event.name")?.value);
  return storableText(named ?? "", maxNameLength) || namelessLog;
}

interface LogParts {
  name: string;
  time: Unsigned64;
  attributes: string;
  body: LogRecord["body"];
}

function jsonOfLog({ severityText }: LogRecord, { name, time, attributes, body }: LogParts): string {
  const at = isUnset(time) ? "null" : `"${timeOfNanos(time)}"`;
  const severity = severityText === "" ? "" : `,"severity":${JSON.stringify(severityText)}`;
  const text = body ? `,"body":${jsonOfValue(body)}` : "";
  return `{"name":${JSON.stringify(name)},"time":${at}${severity},"attributes":${attributes}${text}}`;
}

function nanosOf({ low, high }: Unsigned64): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** Whether a record of this name has contents of a model call. Others wait in a share of their own. */
export function hasContent(name: string): boolean {
  return name === detailsEvent || eventSources.has(name) || name === "exception";
}

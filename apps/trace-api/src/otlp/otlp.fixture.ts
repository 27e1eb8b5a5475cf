import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Trace } from "@waymark/client";
import type request from "supertest";
import type { TestAccount } from "../app.fixture.js";

/** A recorded request in both forms. */
export interface Recording {
  name: string;
  json: string;
  protobuf: Buffer;
}

/** A recorded trace: `sdk-01` is in `sdk-01-1`, `sdk-split-01` in several files. */
export interface RecordedTrace {
  recording: string;
  trace: { agent_id: string; name: string; started_at: string; ended_at: string };
  spans: RecordedSpan[];
  final: { status: string; ended_at: string };
}

interface RecordedSpan {
  name: string;
  status: string;
  started_at: string;
  ended_at: string;
  input: unknown;
  output: unknown;
  error: string | null;
  /** The index of the parent. */
  parent: number | null;
}

/** The lines of a file in the fixtures' folder, parsed. */
export function readFixture<Line>(name: string): Line[] {
  const text = readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** All recorded requests. */
export function readRecordings(): Recording[] {
  return readFixture<{ name: string; json: string; protobuf: string }>("otlp-requests.ndjson").map((line) => ({
    ...line,
    protobuf: Buffer.from(line.protobuf, "base64"),
  }));
}

interface SendOptions {
  encoding?: "gzip" | undefined;
  path?: string;
}

/** Sends bytes as a request of a form, to `/v1/traces` unless told otherwise. */
export function sendOtlp(
  account: TestAccount,
  body: Buffer,
  type: string,
  { encoding, path = "/v1/traces" }: SendOptions = {},
): request.Test {
  const sent = encoding ? gzipSync(body) : body;
  const test = account.post(path).type(type).buffer(true).parse(readBytes);
  if (encoding) test.set("Content-Encoding", encoding);
  // A string or Buffer given to send() would be encoded by its type: the bytes are to go out as they are.
  return test.serialize(() => sent as unknown as string).send(sent);
}

export const sendJson = (account: TestAccount, json: string | object) =>
  sendOtlp(account, Buffer.from(typeof json === "string" ? json : JSON.stringify(json)), "application/json");

type Attributes = Readonly<Record<string, unknown>>;

/** A value as OTLP/JSON has it. */
function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: keyValues((value ?? {}) as Attributes) } };
}

export const keyValues = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

/** A log record as OTLP/JSON has it, with plain values. */
export function logRecord({
  attributes = {},
  body,
  ...members
}: Attributes & { attributes?: Attributes; body?: unknown }) {
  return { ...members, attributes: keyValues(attributes), ...(body !== undefined && { body: anyValue(body) }) };
}

export const logsOf = (logRecords: readonly object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });

/** Sends log records as JSON. */
export const sendLogs = (account: TestAccount, logRecords: readonly object[]) =>
  sendOtlp(account, Buffer.from(JSON.stringify(logsOf(logRecords))), "application/json", { path: "/v1/logs" });

export const sendProtobuf = (account: TestAccount, body: Buffer) => sendOtlp(account, body, "application/x-protobuf");

/** A JSON answer's body. */
export function jsonOf({ body }: request.Response): Record<string, unknown> {
  return JSON.parse((body as Buffer).toString("utf8"));
}

function readBytes(response: request.Response, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("end", () => done(null, Buffer.concat(chunks)));
}

/** All traces of an account with their spans and attributes, by OpenTelemetry's id. */
export async function readTraces(
  account: TestAccount,
  query: (text: string, values: unknown[]) => Promise<{ rows: { id: string; otel: string }[] }>,
): Promise<Map<string, Trace>> {
  const text = "SELECT id, encode(otel_trace_id, 'hex') AS otel FROM trace WHERE account_id = $1 ORDER BY otel";
  const { rows } = await query(text, [account.id]);
  const traces = new Map<string, Trace>();
  for (const { id, otel } of rows) {
    const answer = await account.get(`/api/v1/traces/${id}?include=attributes`).expect(200);
    traces.set(otel, answer.body);
  }
  return traces;
}

/** A trace without differences between accounts: ids become OpenTelemetry's. */
export function withoutIds({ id, ...trace }: Trace) {
  const spans = trace.spans.map(({ id: spanId, parent_span_id, ...span }) => ({
    ...span,
    id: spanId.slice(13),
    parent: parent_span_id?.slice(13) ?? null,
  }));
  return { ...trace, spans };
}

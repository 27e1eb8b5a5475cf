import { gzipSync } from "node:zlib";
import type { OpenApiOperation } from "@waymark/service/http";
import fc, { type Arbitrary } from "fast-check";
import type { Operation } from "./operations.js";
import {
  hostileJson,
  hostileText,
  hostileValue,
  knownId,
  otlpRequests,
  type ValueOptions,
  valueFor,
} from "./values.js";

type Parameter = OpenApiOperation["parameters"][number];

const credentials = ["right", "right", "right", "right", "right", "right", "none", "other", "garbage"] as const;

/** A request before it is sent: ids of earlier answers and credentials are still to be filled in. */
export interface PlannedRequest {
  method: string;
  /** With its query, escaped. */
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
  credential: (typeof credentials)[number];
}

const usualText = fc.oneof(
  { weight: 5, arbitrary: fc.stringMatching(/^[a-z]{1,12}$/) },
  { weight: 2, arbitrary: knownId("any") },
  { weight: 1, arbitrary: hostileText },
);

/** The value in so many of twelve cases. */
const sometimes = <Value, Nothing>(value: Arbitrary<Value>, weight: number, nothing: Nothing) =>
  fc.oneof({ weight, arbitrary: value }, { weight: 12 - weight, arbitrary: fc.constant(nothing) });

/** Makes requests of an operation, from usual ones to hostile ones. */
export function planRequest(operation: Operation): Arbitrary<PlannedRequest> {
  const options = { document: operation.document, text: usualText };
  return fc
    .record({
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE") },
      ),
      path: pathOf(operation.path),
      query: queryOf(operation, options),
      headers: headersOf(operation, options),
      body: bodyOf(operation, options),
      credential: fc.constantFrom(...credentials),
    })
    .map(({ path, query, headers, body, ...rest }) => ({
      ...rest,
      path: query === "" ? path : `${path}?${query}`,
      headers: { ...body?.headers, ...headers },
      body: body?.body,
    }));
}

/** Escapes text for an address; ids to come stay as they are. */
function escapeText(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%7B%7B([\w-]+)%3A(\d+)%7D%7D/g, "{{$1:$2}}");
}

const brokenEscapes = ["%", "%00", "%ff", "%c0%80", "%2e%2e%2f", "%E0%A4%A", "..", "a%0d%0ab"];

/** The known ids that a part of a path may take. */
export function nounOf(part: string, before = ""): string {
  return part === "{id}" ? before.replace(/s$/, "") : part.slice(1, -1).replace(/_?id$/i, "");
}

function pathOf(path: string): Arbitrary<string> {
  const parts = path.split("/").map((part, index, all) => {
    if (!part.startsWith("{")) return fc.constant(part);
    const noun = nounOf(part, all[index - 1]);
    return fc.oneof(
      { weight: 7, arbitrary: knownId(noun) },
      { weight: 1, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: hostileText.map((text) => escapeText(text.slice(0, 2_000) || " ")) },
      { weight: 1, arbitrary: fc.constantFrom(...brokenEscapes) },
    );
  });
  return fc.tuple(...parts).map((chosen) => chosen.join("/"));
}

function queryOf({ description }: Operation, options: ValueOptions): Arbitrary<string> {
  const pieces = description.parameters.filter((each) => each.in === "query").map((each) => pieceOf(each, options));
  const odd = fc.oneof(
    hostileText.map((text) => escapeText(text.slice(0, 500))),
    fc.constantFrom(...brokenEscapes, "__proto__[x]=1", "a[b][c]=1", "range=7d&range=30d"),
  );
  return fc
    .tuple(fc.tuple(...pieces), sometimes(odd, 1, ""))
    .map(([usual, last]) => [...usual, last].filter((piece) => piece !== "").join("&"));
}

function pieceOf({ name, required, schema, explode }: Parameter, options: ValueOptions): Arbitrary<string> {
  const value = fc.oneof(
    { weight: 5, arbitrary: valueFor(schema, options, name) },
    { weight: 1, arbitrary: hostileText.map((text) => text.slice(0, 500)) },
  );
  const written = value.map((each) => {
    const values = Array.isArray(each)
      ? each.map(String)
      : [typeof each === "object" ? JSON.stringify(each) : String(each)];
    const all = explode === false ? [values.join(",")] : values;
    return all.map((one) => `${escapeText(name)}=${escapeText(one.slice(0, 500))}`).join("&");
  });
  return required
    ? fc.oneof({ weight: 9, arbitrary: written }, { weight: 1, arbitrary: fc.constant("") })
    : sometimes(written, 6, "");
}

/** Makes requests that an operation takes, mostly: a path with braces, a query and a body of JSON. */
export function planUsualRequest(operation: Operation, text: Arbitrary<string>) {
  const { description, document } = operation;
  const options = { document, text };
  const pieces = description.parameters
    .filter((each) => each.in === "query")
    .map((each) => usualPieceOf(each, options));
  const schema = description.requestBody?.content["application/json"]?.schema;
  return fc.record({
    query: fc.tuple(...pieces).map((chosen) => chosen.filter((piece) => piece !== "").join("&")),
    body: schema ? valueFor(schema, options).map((value) => JSON.stringify(value)) : fc.constant(undefined),
  });
}

function usualPieceOf({ name, required, schema }: Parameter, options: ValueOptions): Arbitrary<string> {
  const value = schema.type === "array" ? valueFor(schema.items ?? {}, options, name) : valueFor(schema, options, name);
  return sometimes(
    value.map((each) => `${escapeText(name)}=${escapeText(String(each))}`),
    required ? 11 : 2,
    "",
  );
}

const headerText = hostileText.map((text) => text.slice(0, 400).replace(/[^\t\x20-\x7e\x80-\xff]/g, "?"));

function headersOf({ description }: Operation, options: ValueOptions): Arbitrary<Record<string, string>> {
  const described = description.parameters
    .filter((each) => each.in === "header")
    .map(({ name, schema }) => [name, fc.oneof(valueFor(schema, options, name).map(plain), headerText)] as const);
  const further = [
    "Accept",
    "Accept-Encoding",
    "User-Agent",
    "If-None-Match",
    "Referer",
    "traceparent",
    "X-Request-Id",
  ];
  const chosen = fc.record(
    Object.fromEntries([
      ...further.map((name) => [name, headerText] as const),
      ["X-Forwarded-For", fc.oneof(fc.ipV4(), fc.ipV6(), headerText)] as const,
      ...described,
    ]),
    { requiredKeys: [] },
  );
  return chosen.map((headers) => ({ ...headers }) as Record<string, string>);
}

const plain = (value: unknown) => String(value).replace(/[^\x20-\x7e]/g, "?");

interface PlannedBody {
  headers: Record<string, string>;
  body: string | Buffer;
}

function bodyOf({ description, path }: Operation, options: ValueOptions): Arbitrary<PlannedBody | undefined> {
  const media = description.requestBody?.content;
  if (!media) return sometimes(fc.constant({ headers: { "Content-Type": "text/plain" }, body: "x" }), 1, undefined);
  const type = media["application/json"] ? "application/json" : (Object.keys(media)[0] ?? "");
  const { schema = {}, example } = media[type] ?? {};
  const usual = valueFor(schema, options);
  const seeds: unknown[] = example === undefined ? [] : [example];
  if (path === "/v1/traces") seeds.push(...otlpRequests.map((text) => JSON.parse(text)));
  if (path.endsWith("/mcp")) seeds.push(...toolCalls);
  const good = seeds.length === 0 ? usual : fc.oneof(usual, fc.constantFrom(...seeds));
  const json = fc.oneof(
    { weight: 5, arbitrary: good },
    { weight: 4, arbitrary: fc.tuple(good, hostileValue, fc.nat()).map(spoil) },
  );
  const text = json.map((value) => JSON.stringify(value) ?? "");
  const bytes: Arbitrary<string | Buffer> = fc.oneof(
    { weight: 12, arbitrary: text },
    { weight: 2, arbitrary: fc.constantFrom(...hostileJson) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each)) },
    { weight: 1, arbitrary: text.map((each) => each.slice(0, -1)) },
  );
  const types = [
    type,
    type,
    type,
    type,
    type,
    type,
    type,
    ...Object.keys(media),
    "text/plain",
    "application/json; charset=latin1",
  ];
  const codings = [undefined, undefined, undefined, undefined, undefined, "gzip", "gzip-not", "br-not"];
  return fc.record({ bytes, type: fc.constantFrom(...types), coding: fc.constantFrom(...codings) }).map(encode);
}

function encode({
  bytes,
  type,
  coding,
}: {
  bytes: string | Buffer;
  type: string;
  coding: string | undefined;
}): PlannedBody {
  const headers = { "Content-Type": type, ...(coding && { "Content-Encoding": coding.replace("-not", "") }) };
  return { headers, body: coding === "gzip" ? gzipSync(bytes) : bytes };
}

/** Replaces one member, at any depth, by another value. */
function spoil([value, other, position]: [unknown, unknown, number]): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return other;
  const keys = Object.keys(value);
  const key = keys[position % keys.length] ?? "";
  const rest = Math.floor(position / keys.length);
  const changed = rest % 2 === 0 ? other : spoil([Reflect.get(value, key), other, Math.floor(rest / 2)]);
  if (Array.isArray(value)) return value.with(Number(key), changed);
  return { ...value, [key]: changed };
}

/** The tools of each service's `/mcp`. */
export const toolNames = {
  "trace-api": "list_traces get_trace search_spans explain_failure list_agents list_failures get_usage".split(" "),
  "analytics-api": ["list_sites", "get_stats", "get_events", "get_ai"],
};
const toolCalls = [
  { jsonrpc: "2.0", id: 1, method: "tools/list" },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  },
  ...Object.values(toolNames)
    .flat()
    .map((name) => ({
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name, arguments: { trace_id: "{{trace:0}}", site_id: "{{site:0}}", range: "7d", month: "2026-11" } },
    })),
];

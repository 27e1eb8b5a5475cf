import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { JsonSchema, OpenApiDocument } from "@waymark/service/http";
import fc, { type Arbitrary } from "fast-check";
import { followReference } from "./operations.js";

const fixtures = fileURLToPath(new URL("../../../../apps/trace-api/fixtures/", import.meta.url));
const linesOf = (name: string) =>
  readFileSync(fixtures + name, "utf8")
    .trim()
    .split("\n");

const naughtyStrings: string[] = JSON.parse(readFileSync(`${fixtures}naughty-strings.json`, "utf8"));

/** Documents on which JSON parsers disagree. */
export const hostileJson: readonly Buffer[] = linesOf("json-test-suite.ndjson").map((line) =>
  Buffer.from(JSON.parse(line).base64, "base64"),
);

/** Requests of OpenTelemetry's clients, and bad ones. */
export const otlpRequests: readonly string[] = linesOf("otlp-requests.ndjson").map((line) => JSON.parse(line).json);

/** Stands for an id from an earlier answer until the request goes out; the word is a part of the id's path. */
export const knownId = (noun: string): Arbitrary<string> => fc.nat(99).map((n) => `{{${noun}:${n}}}`);

const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
const oddTexts = [
  "",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "\u2028",
  "𝒳".repeat(300),
  "x".repeat(70_000),
  "../../etc",
];
const oddTimes = [
  "0000-00-00T00:00:00Z",
  "9999-12-31T23:59:59.999999Z",
  "0001-01-01T00:00:00+23:59",
  "2026-02-30T00:00:00Z",
];
const oddNumbers = [-1, -0, 0.1, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 63, 5e-324];

/** Texts that break things. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...naughtyStrings),
  fc.constantFrom(...oddTexts, ...oddTimes),
  fc.string({ unit: "binary", maxLength: 40 }),
);

/** Any JSON, odd in kind or in size. */
export const hostileValue: Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom(null, true, [], {}, nested(150), nested(250), ...oddNumbers),
  fc.jsonValue({ maxDepth: 3 }),
  hostileText.map((text) => ({ [text]: text })),
  hostileText.map((text) => JSON.parse(`{"__proto__":{"x":1},"constructor":${JSON.stringify(text)}}`)),
);

export interface ValueOptions {
  document: OpenApiDocument;
  /** Makes texts without a form of their own. */
  text: Arbitrary<string>;
}

/** Makes values that a schema of a request takes, mostly. */
export function valueFor(given: JsonSchema, options: ValueOptions, name = ""): Arbitrary<unknown> {
  const schema = followReference(given, options.document);
  const { enum: choices, const: only, anyOf, oneOf, type } = schema;
  if (choices) return fc.constantFrom(...choices);
  if (only !== undefined) return fc.constant(only);
  const branches = anyOf ?? (oneOf as JsonSchema[] | undefined);
  if (branches) return fc.oneof(...branches.map((each) => valueFor(each, options, name)));
  if (Array.isArray(type)) return fc.oneof(...type.map((each) => valueFor({ ...schema, type: each }, options, name)));
  switch (type) {
    case "object":
      return objectOf(schema, options);
    case "array":
      return fc.array(valueFor(schema.items ?? {}, options, name), {
        minLength: Number(schema["minItems"] ?? 0),
        maxLength: 4,
      });
    case "integer":
      return fc.integer({ min: boundOf(schema["minimum"], 0), max: boundOf(schema["maximum"], 5_000) });
    case "number":
      return fc.double({ min: boundOf(schema["minimum"], 0), max: boundOf(schema["maximum"], 1e6), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "string":
      return textOf(schema, options, name);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Bounds of safe integers are none: Zod writes them for every integer. */
function boundOf(bound: unknown, otherwise: number): number {
  return typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : otherwise;
}

function objectOf({ properties = {}, required = [], additionalProperties }: JsonSchema, options: ValueOptions) {
  const members = Object.entries(properties).map(([name, each]) => [name, valueFor(each, options, name)]);
  const known = fc.record(Object.fromEntries(members), { requiredKeys: required as never[] });
  if (typeof additionalProperties !== "object") return known;
  const further = fc.dictionary(options.text, valueFor(additionalProperties, options), { maxKeys: 3 });
  return fc.tuple(known, further).map(([one, other]) => ({ ...one, ...other }));
}

const recentTime = fc.date({ min: new Date("2026-01-01"), max: new Date("2026-12-31"), noInvalidDate: true });

function textOf(schema: JsonSchema, { text }: ValueOptions, name: string): Arbitrary<string> {
  const time = recentTime.map((moment) => moment.toISOString());
  if (schema.format === "date-time" || /_at$|At$/.test(name)) return time;
  if (schema.format === "date") return time.map((each) => each.slice(0, 10));
  if (/(_id|Ids?)$/.test(name)) return fc.oneof(knownId(name.replace(/_?ids?$/i, "")), text);
  if (/email/i.test(name)) return text.map((each) => `${each.slice(0, 40)}@example.com`);
  return text;
}

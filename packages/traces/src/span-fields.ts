import { jsonField, jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/service/fields";
import { z } from "zod";
import { type Columns, type Field, membersOf, type NamesWith, namesWhere, textOf, timestamp } from "./field-table.js";
import { kindOfJson } from "./otlp/kind.js";
import { type MappedSpan, maxAttributesBytes, spanUuid } from "./otlp/map-request.js";
import { spanKinds, spanStatuses } from "./statuses.js";

interface SpanField extends Field {
  /** Of a field beyond the trace contract ("Span"): answers have it where `include` names it. What that adds. */
  readonly adds?: string;
  otlp(span: MappedSpan, traceId: string): Uint8Array | string | null;
}

export const attributesTooLarge = `Must not take more than ${maxAttributesBytes} bytes as JSON`;

/** The bound is that of spans from OpenTelemetry. */
const attributesField = jsonObjectField()
  .refine((json) => !json || Buffer.byteLength(json.text) <= maxAttributesBytes, attributesTooLarge)
  .optional();
const endField = timestampField().nullish();
const outputField = jsonField().optional();
const errorField = textField().nullish().describe("The error message, for status `error`");

/**
 * Every field of a span but its ids, in the order of answers. Insertion, change, reading, JSON and OpenAPI follow it; a new
 * field also needs its column, and its place in the types of `@waymark/client`.
 */
const spanFields = {
  name: {
    type: "text",
    size: "short",
    body: textField({ min: 1, max: 1_000 }).describe("A label: a model call, a tool, a retrieval"),
    answer: z.string(),
    otlp: ({ name }) => name,
  },
  status: {
    type: "text",
    body: z.enum(spanStatuses),
    change: optionalChoice(spanStatuses),
    answer: z.enum(spanStatuses),
    otlp: ({ status }) => status,
  },
  started_at: {
    type: "timestamptz",
    body: timestampField(),
    answer: timestamp,
    otlp: ({ startedAt }) => startedAt,
  },
  ended_at: {
    type: "timestamptz",
    body: endField,
    change: endField,
    answer: timestamp.nullable(),
    otlp: ({ endedAt }) => endedAt,
  },
  input: {
    type: "json",
    size: "content",
    body: jsonField().optional(),
    answer: z.unknown(),
    otlp: ({ input }) => input,
  },
  output: {
    type: "json",
    size: "content",
    body: outputField,
    change: outputField,
    answer: z.unknown(),
    otlp: ({ output }) => output,
  },
  error: {
    type: "text",
    size: "content",
    body: errorField,
    change: errorField,
    answer: z.string().nullable(),
    otlp: ({ error }) => error,
  },
  parent_span_id: {
    type: "text",
    size: "short",
    body: textField().nullish().describe("The id of the parent span, kept as given"),
    answer: z.string().nullable(),
    otlp: ({ parentSpanId }, traceId) => parentSpanId && spanUuid(traceId, parentSpanId),
  },
  kind: {
    type: "text",
    adds: "the kind of spans",
    body: z
      .enum(spanKinds)
      .nullish()
      .describe("Of the step; without it the attributes may tell it, such as `gen_ai.operation.name`"),
    answer: z.enum(spanKinds).nullish().describe("With `include=kind`: null of a span of which nobody told it"),
    otlp: ({ kind }) => kind,
  },
  /** Stored as an object with this member, and `otel` of OpenTelemetry; the two end an answer. */
  attributes: {
    type: "json",
    adds: "the further attributes of spans",
    size: "content",
    body: attributesField.describe("Further attributes by OpenTelemetry's names, such as `gen_ai.usage.input_tokens`"),
    change: attributesField.describe("Replaces the given members; null removes a member, or all"),
    answer: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe("With `include=attributes`: the further attributes of a span"),
    otlp: ({ extra }) => extra,
  },
} as const satisfies Record<string, SpanField>;

type Fields = typeof spanFields;
export type SpanFieldName = keyof Fields;
export type ContentName = NamesWith<Fields, "size", "content">;
type ChangedName = NamesWith<Fields, "change", z.ZodType>;

export type SpanPart = NamesWith<Fields, "adds", string>;

/** A field without its own types. */
export const fieldOf = (name: SpanFieldName): SpanField => spanFields[name];

function namesOf<Name extends SpanFieldName>(condition: (field: SpanField, name: SpanFieldName) => boolean): Name[] {
  return namesWhere<Fields, Name>(spanFields, condition);
}

/** The body of `POST /traces/:trace_id/spans` (trace contract, "Span"). */
export const newSpanSchema = z.object(membersOf(spanFields, "body"));
/** The body of `PATCH /traces/:trace_id/spans/:span_id`: only given fields change. */
export const spanChangeSchema = z.object(membersOf(spanFields, "change"));
export const spanAnswers = membersOf(spanFields, "answer");

export type NewSpan = z.output<typeof newSpanSchema>;
export type SpanChange = z.output<typeof spanChangeSchema>;

export const contentNames = namesOf<ContentName>(({ size }) => size === "content");
/** Kept as the text that was sent. */
export const opaqueNames = namesOf(({ type }) => type === "json");
export const optionalNames: ReadonlySet<SpanFieldName> = new Set(namesOf(({ body }) => body.isOptional()));
export const changedNames = namesOf<ChangedName>(({ change }) => change !== undefined);

const partNames = namesOf<SpanPart>(({ adds }) => adds !== undefined);
export const spanParts = Object.fromEntries(partNames.map((name) => [name, { adds: spanFields[name].adds }])) as {
  readonly [Name in SpanPart]: { readonly adds: string };
};

/** Makes a value for each choice of parts, at its first use; names that are no part do not count. */
export function byParts<T>(make: (parts: readonly SpanPart[]) => T): (asked: readonly string[]) => T {
  const made = new Map<string, T>();
  return (asked) => {
    const parts = partNames.filter((name) => asked.includes(name));
    const value = made.get(parts.join()) ?? make(parts);
    made.set(parts.join(), value);
    return value;
  };
}

const isIn = (name: string, parts: readonly string[]) =>
  parts.includes(name) || !partNames.some((part) => part === name);

/** The fields of an answer whose length counts. */
export function sizedNames(parts: readonly SpanPart[] = partNames): SpanFieldName[] {
  return namesOf(({ size }, name) => size !== undefined && isIn(name, parts));
}

/** The columns of rows of spans. Few spans have attributes: statements for the others are shorter. */
export function spanColumns<Row>(
  withAttributes: boolean,
  reader: (name: SpanFieldName) => (row: Row) => unknown,
): Columns<Row> {
  const names = namesOf((_, name) => withAttributes || name !== "attributes");
  return Object.fromEntries(names.map((name) => [name, { type: fieldOf(name).type, of: reader(name) }]));
}

export function answeredNames(parts: readonly SpanPart[]): SpanFieldName[] {
  return namesOf((_, name) => name !== "attributes" && isIn(name, parts));
}

/** Reads a field of a body as its column stores it. */
export function columnOfBody(name: SpanFieldName): (span: NewSpan) => unknown {
  if (name === "attributes") return ({ attributes }) => attributes && storedAttributes(attributes.text);
  if (name === "kind") return ({ kind, attributes }) => kind ?? (attributes && kindOfJson(attributes.text));
  return fieldOf(name).type === "json" ? (span) => textOf(span[name]) : (span) => span[name];
}

/** @param json the attributes as a JSON object */
export function storedAttributes(json: string): string {
  return `{"attributes":${json}}`;
}

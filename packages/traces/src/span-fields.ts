import { jsonField, jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/service/fields";
import { z } from "zod";
import { type Columns, type Field, membersOf, type NamesWith, namesWhere, textOf, timestamp } from "./field-table.js";
import { type MappedSpan, maxAttributesBytes, spanUuid } from "./otlp/map-request.js";
import { spanStatuses } from "./statuses.js";

interface SpanField extends Field {
  /** Beyond the trace contract ("Span"): answers have it with `include=attributes` alone. */
  readonly isExtension?: true;
  /** From OpenTelemetry. */
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
  /** Stored as an object with this member, and `otel` of OpenTelemetry; the two end an answer. */
  attributes: {
    type: "json",
    isExtension: true,
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
export const changedNames = namesOf<ChangedName>(({ change }) => change !== undefined);

/** The fields of an answer whose length counts. */
export function sizedNames(withAttributes: boolean): SpanFieldName[] {
  return namesOf(({ size, isExtension }) => size !== undefined && (withAttributes || !isExtension));
}

/** The columns of rows of spans. Few spans have attributes: statements for the others are shorter. */
export function spanColumns<Row>(
  withAttributes: boolean,
  reader: (name: SpanFieldName) => (row: Row) => unknown,
): Columns<Row> {
  const names = namesOf((_, name) => withAttributes || name !== "attributes");
  return Object.fromEntries(names.map((name) => [name, { type: fieldOf(name).type, of: reader(name) }]));
}

/** The fields of an answer but `attributes`, in its order. */
export function answeredNames(withAttributes: boolean): SpanFieldName[] {
  return namesOf(({ isExtension }, name) => name !== "attributes" && (withAttributes || !isExtension));
}

/** Reads a field of a body as its column stores it. */
export function columnOfBody(name: SpanFieldName): (span: NewSpan) => unknown {
  if (name === "attributes") return ({ attributes }) => attributes && storedAttributes(attributes.text);
  return fieldOf(name).type === "json" ? (span) => textOf(span[name]) : (span) => span[name];
}

/** @param json the attributes as a JSON object */
export function storedAttributes(json: string): string {
  return `{"attributes":${json}}`;
}

import { jsonField, jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/service/fields";
import { spanStatuses } from "@waymark/traces";
import { maxAttributesBytes } from "@waymark/traces/otlp";
import { z } from "zod";

export const attributesTooLarge = `Must not take more than ${maxAttributesBytes} bytes as JSON`;

/** The bound is that of spans from OpenTelemetry. */
const attributesField = jsonObjectField()
  .refine((json) => !json || Buffer.byteLength(json.text) <= maxAttributesBytes, attributesTooLarge)
  .optional();

/** The body of `POST /traces/:trace_id/spans` (trace contract, "Span"). */
export const newSpanSchema = z.object({
  name: textField({ min: 1, max: 1_000 }).describe("A label: a model call, a tool, a retrieval"),
  status: z.enum(spanStatuses),
  started_at: timestampField(),
  ended_at: timestampField().nullish(),
  input: jsonField().optional(),
  output: jsonField().optional(),
  error: textField().nullish().describe("The error message, for status `error`"),
  parent_span_id: textField().nullish().describe("The id of the parent span, kept as given"),
  attributes: attributesField.describe(
    "Further attributes by OpenTelemetry's names, such as `gen_ai.usage.input_tokens`",
  ),
});

/** The body of `PATCH /traces/:trace_id/spans/:span_id`: only given fields change. */
export const spanChangeSchema = newSpanSchema.pick({ ended_at: true, output: true, error: true }).extend({
  status: optionalChoice(spanStatuses),
  attributes: attributesField.describe("Replaces the given members; null removes a member, or all"),
});

export type SpanChange = z.output<typeof spanChangeSchema>;
export type NewSpan = z.output<typeof newSpanSchema>;

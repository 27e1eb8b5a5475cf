import { named } from "@waymark/service/http";
import { spanStatuses, traceStatuses } from "@waymark/traces";
import { z } from "zod";
import { timestamp } from "../answers.js";
import { traceScoreSchema } from "../scores/score.schema.js";
import { traceUsageSchema } from "../usage/model-sums.schema.js";

const traceFields = {
  id: z.string(),
  agent_id: z.string(),
  name: z.string(),
  status: z.enum(traceStatuses),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
};

const spanSchema = named(
  "Span",
  z.object({
    id: z.string(),
    name: z.string(),
    status: z.enum(spanStatuses),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    input: z.unknown(),
    output: z.unknown(),
    error: z.string().nullable(),
    parent_span_id: z.string().nullable(),
    attributes: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe("With `include=attributes`: the further attributes of a span"),
    otel: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("With `include=attributes`, for OpenTelemetry spans: span id, kind, events, links, scope and resource"),
  }),
);

/** The answer of `GET /traces/:trace_id` (trace contract, "GET /api/v1/traces/:trace_id"). */
export const traceSchema = named(
  "Trace",
  z.object({
    ...traceFields,
    metadata: z.record(z.string(), z.unknown()).nullable(),
    spans: z.array(spanSchema),
    usage: traceUsageSchema.optional().describe("With `include=usage`"),
    scores: z.array(traceScoreSchema).optional().describe("With `include=scores`"),
  }),
);

/** The answer of `GET /traces`. */
export const tracePageSchema = named(
  "TracePage",
  z.object({
    traces: z.array(named("ListedTrace", z.object({ ...traceFields, duration_ms: z.number().nullable() }))),
    next_cursor: z.string().nullable(),
  }),
);

/** A trace in the examples of both answers. */
export const exampleTrace = {
  id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f",
  agent_id: "billing-agent",
  name: "Refund order 1042",
  status: "success",
  started_at: "2026-01-31T12:00:00.000Z",
  ended_at: "2026-01-31T12:00:04.250Z",
} as const;

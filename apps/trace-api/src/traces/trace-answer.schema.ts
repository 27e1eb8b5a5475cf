import { named } from "@waymark/service/http";
import {
  labelsSchema,
  listPartsSchema,
  spanAnswers,
  traceAnswers,
  traceScoreSchema,
  traceUsageSchema,
} from "@waymark/traces";
import { z } from "zod";

const spanSchema = named(
  "Span",
  z.object({
    id: z.string(),
    ...spanAnswers,
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
    ...traceAnswers.listed,
    metadata: traceAnswers.metadata,
    spans: z.array(spanSchema),
    usage: named("TraceUsage", traceUsageSchema).optional().describe("With `include=usage`"),
    scores: z.array(traceScoreSchema).optional().describe("With `include=scores`"),
    ...labelsSchema.partial().shape,
  }),
);

const listedSchema = z.object({
  ...traceAnswers.listed,
  duration_ms: z.number().nullable(),
  ...listPartsSchema.shape,
});

/** The answer of `GET /traces`. */
export const tracePageSchema = named(
  "TracePage",
  z.object({
    traces: z.array(named("ListedTrace", listedSchema)),
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

import { principalOf } from "@waymark/auth";
import type { CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createShares, named, type Refusals, route } from "@waymark/http";
import { createTraceReader, largeAnswerLimits, spanStatuses, traceStatuses } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery } from "../answers.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";

const timestamp = z.string().meta({ format: "date-time" });

const readSpanSchema = named(
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
      .describe("With `include=attributes`: what the span says beyond the fields, as OpenTelemetry's spans do"),
    otel: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        "With `include=attributes`, of spans from OpenTelemetry: span id, kind, events, links, scope and resource",
      ),
  }),
);

const querySchema = z.object({
  include: z.enum(["attributes"]).optional().describe("`attributes` gives what spans say beyond the fields"),
});

const readTraceSchema = named(
  "Trace",
  z.object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string(),
    status: z.enum(traceStatuses),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    spans: z.array(readSpanSchema),
  }),
);

/** `GET /traces/:trace_id`: a trace with all its spans (trace contract, "GET /api/v1/traces/:trace_id"). */
export function getTraceRoute({
  pool,
  createGroupCommit,
  refusals,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  refusals: Refusals;
}) {
  const readTrace = createTraceReader({
    pool,
    createGroupCommit,
    largeAnswers: createShares(largeAnswerLimits, refusals),
  });
  return route({
    method: "get",
    path: "/traces/:trace_id",
    operationId: "getTrace",
    summary: "Read a trace with all its spans",
    description:
      "Spans come in the order in which they were received, those from OpenTelemetry in the order of their ids. Times are in UTC.",
    params: traceIdParameter,
    query: querySchema,
    lenientQuery: [],
    answers: {
      200: {
        description: "The trace",
        schema: readTraceSchema,
        example: {
          id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f",
          agent_id: "billing-agent",
          name: "Refund order 1042",
          status: "success",
          started_at: "2026-01-31T12:00:00.000Z",
          ended_at: "2026-01-31T12:00:04.250Z",
          metadata: { model: "gpt-4o" },
          spans: [
            {
              id: "019c13f2-6ce1-7d57-8b1c-8a54dfd5b0a4",
              name: "get_order",
              status: "ok",
              started_at: "2026-01-31T12:00:00.200Z",
              ended_at: "2026-01-31T12:00:00.450Z",
              input: { order: 1042 },
              output: { state: "paid" },
              error: null,
              parent_span_id: null,
            },
          ],
        },
      },
      400: {
        ...invalidQuery,
        example: { error: "Validation failed", fields: { include: "Must be one of: attributes" } },
      },
    },
    async handle({ params, query, response }) {
      const { accountId } = principalOf(response);
      const traceId = traceIdOf(params);
      const withAttributes = query.include === "attributes";
      const body = await readTrace({ accountId, traceId, withAttributes });
      if (body === undefined) throw new AppError("trace_not_found");
      return { status: 200, body };
    },
  });
}

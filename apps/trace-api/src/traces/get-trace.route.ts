import { principalOf } from "@waymark/auth";
import type { CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createShares, type Refusals, route } from "@waymark/http";
import { createTraceReader, largeAnswerLimits } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery } from "../answers.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";
import { exampleTrace, traceSchema } from "./trace-answer.schema.js";

const querySchema = z.object({
  include: z.enum(["attributes"]).optional().describe("`attributes` adds the further attributes of spans"),
});

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
    description: "Spans have the order of receipt, spans from OpenTelemetry the order of their ids. Times are in UTC.",
    params: traceIdParameter,
    query: querySchema,
    lenientQuery: [],
    answers: {
      200: {
        description: "The trace",
        schema: traceSchema,
        example: {
          ...exampleTrace,
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

import { principalOf } from "@waymark/auth";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { invalidKey, traceNotFound, validationFailed } from "../api.js";
import type { Gather } from "../gather.js";
import { createSpanStore } from "./add-span.query.js";
import { newSpanSchema } from "./span.schema.js";

/** `POST /traces/:trace_id/spans`: adds a span (trace contract, "POST /api/v1/traces/:trace_id/spans"). */
export function addSpanRoute({ pool, gather, uuid }: { pool: pg.Pool; gather: Gather; uuid(): string }) {
  const addSpan = createSpanStore({ pool, gather });
  return route({
    method: "post",
    path: "/traces/:trace_id/spans",
    operationId: "addSpan",
    summary: "Add a span to a trace",
    params: { trace_id: "The id that creating the trace answered" },
    body: newSpanSchema,
    opaqueKeys: ["input", "output"],
    bodyExample: {
      name: "get_order",
      status: "ok",
      started_at: "2026-01-31T12:00:00.200Z",
      ended_at: "2026-01-31T12:00:00.450Z",
      input: { order: 1042 },
      output: { state: "paid" },
    },
    answers: {
      201: {
        description: "The span is committed",
        schema: z.object({ span_id: z.string() }),
        example: { span_id: "019c13f2-6ce1-7d57-8b1c-8a54dfd5b0a4" },
      },
      400: validationFailed,
      401: invalidKey,
      404: traceNotFound,
    },
    async handle({ params, body, response }) {
      const { accountId } = principalOf(response);
      const traceId = params["trace_id"] ?? "";
      const spanId = uuid();
      const isAdded = isUuid(traceId) && (await addSpan({ accountId, traceId, spanId, span: body }));
      if (!isAdded) throw new AppError("trace_not_found");
      return { status: 201, body: { span_id: spanId } };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { invalidKey, spanNotFound, validationFailed } from "../api.js";
import type { Gather } from "../gather.js";
import { createSpanChanger } from "./change-span.query.js";
import { spanChangeSchema } from "./span.schema.js";

/** `PATCH /traces/:trace_id/spans/:span_id`: closes or corrects a span, so that a step is visible while it runs. */
export function changeSpanRoute(deps: { pool: pg.Pool; gather: Gather }) {
  const changeSpan = createSpanChanger(deps);
  return route({
    method: "patch",
    path: "/traces/:trace_id/spans/:span_id",
    operationId: "changeSpan",
    summary: "Close or correct a span",
    description: "All fields are optional, and only those given change; null clears `ended_at`, `output` and `error`.",
    params: { trace_id: "The id that creating the trace answered", span_id: "The id that adding the span answered" },
    body: named("SpanChange", spanChangeSchema),
    opaqueKeys: ["output"],
    bodyExample: { status: "ok", ended_at: "2026-01-31T12:00:00.450Z", output: { state: "paid" } },
    answers: {
      200: { description: "The span is changed", schema: z.object({ ok: z.literal(true) }), example: { ok: true } },
      400: validationFailed,
      401: invalidKey,
      404: spanNotFound,
    },
    async handle({ params, body, response }) {
      const { accountId } = principalOf(response);
      const traceId = (params["trace_id"] ?? "").toLowerCase();
      const spanId = (params["span_id"] ?? "").toLowerCase();
      if (!isUuid(traceId)) throw new AppError("trace_not_found");
      const result = await changeSpan({ accountId, traceId, spanId: isUuid(spanId) ? spanId : null, change: body });
      if (result !== "changed") throw new AppError(result);
      return { status: 200, body: { ok: true } };
    },
  });
}

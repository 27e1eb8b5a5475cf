import { principalOf } from "@waymark/auth";
import { type CreateGroupCommit, isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { spanNotFound } from "../answers.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";
import { createSpanChanger } from "./change-span.query.js";
import { spanChangeSchema } from "./span.schema.js";

/** `PATCH /traces/:trace_id/spans/:span_id`: closes or corrects a span, so a step is visible while it runs. */
export function changeSpanRoute(deps: { pool: pg.Pool; createGroupCommit: CreateGroupCommit }) {
  const changeSpan = createSpanChanger(deps);
  return route({
    method: "patch",
    path: "/traces/:trace_id/spans/:span_id",
    operationId: "changeSpan",
    summary: "Close or correct a span",
    description:
      "All fields are optional; omitted fields stay unchanged. Null clears `ended_at`, `output` and `error`.",
    params: { ...traceIdParameter, span_id: "The id of the span" },
    body: named("SpanChange", spanChangeSchema),
    opaqueKeys: ["output"],
    bodyExample: { status: "ok", ended_at: "2026-01-31T12:00:00.450Z", output: { state: "paid" } },
    answers: {
      200: { description: "The span is changed", schema: z.object({ ok: z.literal(true) }), example: { ok: true } },
      404: spanNotFound,
    },
    async handle({ params, body, response }) {
      const { accountId } = principalOf(response);
      const traceId = traceIdOf(params);
      const spanId = (params["span_id"] ?? "").toLowerCase();
      const result = await changeSpan({ accountId, traceId, spanId: isUuid(spanId) ? spanId : null, change: body });
      if (result !== "changed") throw new AppError(result);
      return { status: 200, body: { ok: true } };
    },
  });
}

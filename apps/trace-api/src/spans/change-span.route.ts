import { principalOf } from "@waymark/auth";
import { type CreateGroupCommit, isUuid } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { named, route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { spanNotFound } from "../answers.js";
import type { ClearFailure } from "../failures/clear-failure.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";
import { createSpanChanger } from "./change-span.query.js";
import { attributesTooLarge, spanChangeSchema } from "./span.schema.js";

/** `PATCH /traces/:trace_id/spans/:span_id`: closes or corrects a span, so a step is visible while it runs. */
export function changeSpanRoute(deps: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  clearFailure: ClearFailure;
  priceUsage: PriceUsage;
}) {
  const changeSpan = createSpanChanger(deps);
  const { clearFailure } = deps;
  return route({
    method: "patch",
    path: "/traces/:trace_id/spans/:span_id",
    operationId: "changeSpan",
    summary: "Close or correct a span",
    description:
      "All fields are optional; omitted fields stay unchanged. Null clears `ended_at`, `output`, `error` and `attributes`. Members of `attributes` replace those of the same name, and a null one removes it.",
    params: { ...traceIdParameter, span_id: "The id of the span" },
    body: named("SpanChange", spanChangeSchema),
    opaqueKeys: ["output", "attributes"],
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
      if (result === "attributes_too_large") throw validationError({ attributes: attributesTooLarge });
      if (result === "failing_changed") await clearFailure({ accountId, traceId });
      else if (result !== "changed") throw new AppError(result);
      return { status: 200, body: { ok: true } };
    },
  });
}

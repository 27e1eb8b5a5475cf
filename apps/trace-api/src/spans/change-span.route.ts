import { isUuid } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  attributesTooLarge,
  type ClearFailure,
  opaqueNames,
  spanChangeSchema,
  type TimedBatching,
} from "@waymark/traces";
import { z } from "zod";
import { spanNotFound } from "../answers.js";
import type { PriceUsage } from "../model-calls/model-call.js";
import { traceIdOf, traceIdParameter } from "../path-ids.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { byteHeaderNames, byteHeaders, byteLimitError, bytesAreUsedUp, senderOf } from "../usage/trace-quota.js";
import { bytesOfChange, createSpanChanger } from "./change-span.query.js";

/** `PATCH /traces/:trace_id/spans/:span_id`: closes or corrects a span, so a step is visible while it runs. */
export function changeSpanRoute(
  deps: TimedBatching & { reserve: Pick<ByteReserve, "ahead">; clearFailure: ClearFailure; priceUsage: PriceUsage },
) {
  const changeSpan = createSpanChanger(deps);
  const { clearFailure, reserve, now } = deps;
  return route({
    method: "patch",
    scope: "ingest",
    path: "/traces/:trace_id/spans/:span_id",
    operationId: "changeSpan",
    summary: "Close or correct a span",
    description:
      "All fields are optional; omitted fields stay unchanged. Null clears `ended_at`, `output`, `error` and `attributes`. Members of `attributes` replace those of the same name, and a null one removes it.",
    params: { ...traceIdParameter, span_id: "The id of the span" },
    body: named("SpanChange", spanChangeSchema),
    opaqueKeys: opaqueNames.filter((name) => Object.hasOwn(spanChangeSchema.shape, name)),
    bodyExample: { status: "ok", ended_at: "2026-01-31T12:00:00.450Z", output: { state: "paid" } },
    answers: {
      200: {
        description: "The span is changed",
        schema: z.object({ ok: z.literal(true) }),
        example: { ok: true },
        headers: byteHeaderNames,
      },
      404: spanNotFound,
      429: bytesAreUsedUp,
    },
    async handle({ params, body, response }) {
      const { accountId, plan, month } = senderOf(response, now());
      const traceId = traceIdOf(params);
      const spanId = (params["span_id"] ?? "").toLowerCase();
      const counted = { plan, month: month.firstDay, bytes: bytesOfChange(body) };
      const span = { accountId, traceId, spanId: isUuid(spanId) ? spanId : null };
      const result = await changeSpan({ ...span, ...counted, change: body });
      const { outcome } = result;
      if (outcome === "byte_limit") throw byteLimitError({ plan, month }, result.usedBytes);
      if (outcome === "attributes_too_large") throw validationError({ attributes: attributesTooLarge });
      if (outcome === "failing_changed") await clearFailure({ accountId, traceId });
      else if (outcome !== "changed") throw new AppError(outcome);
      return { status: 200, headers: byteHeaders({ plan }, result, reserve.ahead(accountId)), body: { ok: true } };
    },
  });
}

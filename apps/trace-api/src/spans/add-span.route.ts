import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import { newSpanSchema, opaqueNames } from "@waymark/traces";
import { z } from "zod";
import { bytesAreUsedUp, replayed, replayHeaders, traceIsFull } from "../answers.js";
import type { IdempotencyGuard } from "../idempotency/idempotency-guard.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";
import { byteHeaderNames, byteHeaders, byteLimitError, senderOf } from "../usage/trace-quota.js";
import type { AddSpans } from "./add-spans.js";
import { traceFull } from "./trace-capacity.js";

export interface AddSpansDeps {
  addSpans: AddSpans;
  guardIdempotency: IdempotencyGuard;
  uuid(): string;
  /** The time of the monthly limits. */
  now(): Date;
}

/** `POST /traces/:trace_id/spans`: adds a span (trace contract, "POST /api/v1/traces/:trace_id/spans"). */
export function addSpanRoute({ addSpans, guardIdempotency, uuid, now }: AddSpansDeps) {
  return route({
    method: "post",
    path: "/traces/:trace_id/spans",
    operationId: "addSpan",
    summary: "Add a span to a trace",
    params: traceIdParameter,
    lenientQuery: [],
    body: named("NewSpan", newSpanSchema),
    opaqueKeys: opaqueNames,
    takesIdempotencyKey: true,
    bodyExample: {
      name: "get_order",
      status: "ok",
      started_at: "2026-01-31T12:00:00.200Z",
      ended_at: "2026-01-31T12:00:00.450Z",
      input: { order: 1042 },
      output: { state: "paid" },
      attributes: { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1042 },
    },
    answers: {
      201: {
        description: "The span is committed",
        schema: z.object({ span_id: z.string() }),
        example: { span_id: "019c13f2-6ce1-7d57-8b1c-8a54dfd5b0a4" },
        headers: [...byteHeaderNames, ...replayHeaders],
      },
      413: traceIsFull,
      429: bytesAreUsedUp,
    },
    async handle({ params, body, idempotency, response }) {
      const { accountId, plan, month } = senderOf(response, now());
      const traceId = traceIdOf(params);
      const spans = [{ id: uuid(), span: body }];
      const result = await guardIdempotency(accountId, idempotency, () =>
        addSpans({ accountId, traceId, spans, idempotency, plan, month: month.firstDay }),
      );
      if (result.outcome === "trace_not_found") throw new AppError("trace_not_found");
      if (result.outcome === "trace_full") throw traceFull();
      if (result.outcome === "byte_limit") throw byteLimitError({ plan, month }, result.usedBytes);
      return {
        status: 201,
        headers: { ...byteHeaders({ plan }, result), ...replayed(result) },
        body: { span_id: result.ids[0] },
      };
    },
  });
}

import { AppError } from "@waymark/errors";
import { route } from "@waymark/service/http";
import { opaqueNames } from "@waymark/traces";
import { z } from "zod";
import { bytesAreUsedUp, replayed, replayHeaders, traceIsFull, validationFailed } from "../answers.js";
import { traceIdOf, traceIdParameter } from "../trace-id.js";
import { byteHeaderNames, byteHeaders, byteLimitError, senderOf } from "../usage/trace-quota.js";
import type { AddSpansDeps } from "./add-span.route.js";
import { maxSpansPerStatement } from "./add-spans.js";
import { resolveReferences, spanBatchSchema } from "./span-batch.schema.js";
import { traceFull } from "./trace-capacity.js";

/** `POST /traces/:trace_id/spans/batch`: adds up to 1,000 spans, all or none. */
export function addSpansRoute({ addSpans, guardIdempotency, uuid, now }: AddSpansDeps) {
  return route({
    method: "post",
    path: "/traces/:trace_id/spans/batch",
    operationId: "addSpans",
    summary: "Add up to 1,000 spans to a trace, all or none",
    description:
      "A span may name its parent by the `ref` of another span in the batch. Keys in `fields` have the index of a span, from 0: `spans.3.started_at`.",
    params: traceIdParameter,
    body: spanBatchSchema,
    opaqueElements: { list: "spans", keys: opaqueNames, most: maxSpansPerStatement },
    takesIdempotencyKey: true,
    bodyExample: {
      spans: [
        { ref: "plan", name: "plan", status: "ok", started_at: "2026-01-31T12:00:00.100Z" },
        {
          parent_ref: "plan",
          name: "get_order",
          status: "ok",
          started_at: "2026-01-31T12:00:00.200Z",
          ended_at: "2026-01-31T12:00:00.450Z",
          input: { order: 1042 },
          output: { state: "paid" },
        },
      ],
    },
    answers: {
      201: {
        description: "The spans are committed; their ids are in the order of the batch",
        schema: z.object({ span_ids: z.array(z.string()) }),
        example: { span_ids: ["019c13f2-6ce1-7d57-8b1c-8a54dfd5b0a4", "019c13f2-6ce1-7d57-8b1d-0a9b7c6d5e4f"] },
        headers: [...byteHeaderNames, ...replayHeaders],
      },
      400: {
        ...validationFailed,
        example: { error: "Validation failed", fields: { "spans.3.started_at": "Required" } },
      },
      413: traceIsFull,
      429: bytesAreUsedUp,
    },
    async handle({ params, body, idempotency, response }) {
      const { accountId, plan, month } = senderOf(response, now());
      const traceId = traceIdOf(params);
      const spans = resolveReferences(body.spans, uuid);
      const result = await guardIdempotency(accountId, idempotency, () =>
        addSpans({ accountId, traceId, spans, idempotency, plan, month: month.firstDay }),
      );
      if (result.outcome === "trace_not_found") throw new AppError("trace_not_found");
      if (result.outcome === "trace_full") throw traceFull();
      if (result.outcome === "byte_limit") throw byteLimitError({ plan, month }, result.usedBytes);
      return {
        status: 201,
        headers: { ...byteHeaders({ plan }, result), ...replayed(result) },
        body: { span_ids: result.ids },
      };
    },
  });
}

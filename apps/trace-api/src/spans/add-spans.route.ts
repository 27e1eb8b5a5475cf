import { AppError } from "@waymark/errors";
import { type Answer, named, type Route, route } from "@waymark/service/http";
import { newSpanSchema, opaqueNames } from "@waymark/traces";
import { z } from "zod";
import { replayed, replayHeaders, validationFailed } from "../answers.js";
import type { IdempotencyGuard } from "../idempotency/idempotency-guard.js";
import { traceIdOf, traceIdParameter } from "../path-ids.js";
import { byteHeaderNames, byteHeaders, byteLimitError, bytesAreUsedUp, senderOf } from "../usage/trace-quota.js";
import { type AddSpans, maxSpansPerStatement } from "./add-spans.js";
import type { SpansToAdd } from "./insert-spans.query.js";
import { resolveReferences, spanBatchSchema } from "./span-batch.schema.js";
import { traceFull, traceIsFull } from "./trace-capacity.js";

interface AddSpansDeps {
  addSpans: AddSpans;
  guardIdempotency: IdempotencyGuard;
  uuid(): string;
  now(): Date;
}

/** `POST /traces/:trace_id/spans`: adds a span (trace contract, "POST /api/v1/traces/:trace_id/spans"). */
export function addSpanRoute(deps: AddSpansDeps) {
  const add = createAdder(deps);
  return route({
    method: "post",
    scope: "ingest",
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
    handle: (input) => add(input, [{ id: deps.uuid(), span: input.body }], ([id]) => ({ span_id: id })),
  });
}

export function addSpansRoute(deps: AddSpansDeps) {
  const add = createAdder(deps);
  return route({
    method: "post",
    scope: "ingest",
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
    handle: (input) => add(input, resolveReferences(input.body.spans, deps.uuid), (ids) => ({ span_ids: ids })),
  });
}

type Input = Pick<Parameters<Route["handle"]>[0], "params" | "idempotency" | "response">;

function createAdder({ addSpans, guardIdempotency, now }: AddSpansDeps) {
  return async (
    { params, idempotency, response }: Input,
    spans: SpansToAdd["spans"],
    bodyOf: (ids: readonly string[]) => object,
  ): Promise<Answer> => {
    const { accountId, plan, month } = senderOf(response, now());
    const traceId = traceIdOf(params);
    const result = await guardIdempotency(accountId, idempotency, () =>
      addSpans({ accountId, traceId, spans, idempotency, plan, month: month.firstDay }),
    );
    if (result.outcome === "trace_not_found") throw new AppError("trace_not_found");
    if (result.outcome === "trace_full") throw traceFull();
    if (result.outcome === "byte_limit") throw byteLimitError({ plan, month }, result.usedBytes);
    const headers = { ...byteHeaders({ plan }, result), ...replayed(result) };
    return { status: 201, headers, body: bodyOf(result.ids) };
  };
}

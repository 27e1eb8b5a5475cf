import { named, route } from "@waymark/service/http";
import { hashOfVisit, newTraceSchema } from "@waymark/traces";
import { z } from "zod";
import { replayed, replayHeaders } from "../answers.js";
import type { IdempotencyGuard } from "../idempotency/idempotency-guard.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import {
  agentLimitError,
  agentLimitReached,
  byteHeaderNames,
  byteHeaders,
  byteLimitError,
  monthIsUsedUp,
  quotaHeaderNames,
  quotaHeaders,
  senderOf,
  traceLimitError,
} from "../usage/trace-quota.js";
import type { CreateTrace } from "./create-trace.js";
import { bytesOfTrace } from "./insert-traces.query.js";
import type { StoreVisit } from "./visits.query.js";

interface CreateTraceDeps {
  reserve: Pick<ByteReserve, "ahead">;
  createTrace: CreateTrace;
  guardIdempotency: IdempotencyGuard;
  storeVisit: StoreVisit;
  uuid(): string;
  now(): Date;
}

/** `POST /traces`: creates a trace, within the plan's limits (trace contract, "POST /api/v1/traces"). */
export function createTraceRoute(deps: CreateTraceDeps) {
  const { createTrace, reserve, guardIdempotency, storeVisit, uuid, now } = deps;
  return route({
    method: "post",
    scope: "ingest",
    path: "/traces",
    operationId: "createTrace",
    summary: "Create a trace",
    description: "Counts one trace in the UTC month of receipt. A new `agent_id` creates the agent.",
    lenientQuery: [],
    body: named("NewTrace", newTraceSchema),
    opaqueKeys: ["metadata"],
    takesIdempotencyKey: true,
    bodyExample: {
      agent_id: "billing-agent",
      name: "Refund order 1042",
      status: "running",
      started_at: "2026-01-31T12:00:00.000Z",
      metadata: { model: "gpt-4o" },
    },
    answers: {
      201: {
        description: "The trace is committed",
        schema: z.object({ trace_id: z.string() }),
        example: { trace_id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f" },
        headers: [...quotaHeaderNames, ...byteHeaderNames, ...replayHeaders],
      },
      403: agentLimitReached,
      429: monthIsUsedUp,
    },
    async handle({ body, idempotency, response }) {
      const { accountId, plan, month } = senderOf(response, now());
      const counted = { plan, month: month.firstDay, bytes: bytesOfTrace(body) };
      const trace = { accountId, traceId: uuid(), ...counted, trace: body, idempotency };
      // Before the trace, so an answer means both. Without a trace it matches nothing.
      if (body.visit) await storeVisit({ accountId, traceId: trace.traceId, visit: hashOfVisit(body.visit) });
      const result = await guardIdempotency(accountId, idempotency, () => createTrace(trace));
      const quota = { plan, month, used: result.used };
      if (result.outcome === "agent_limit") throw agentLimitError(quota);
      if (result.outcome === "trace_limit") throw traceLimitError(quota);
      if (result.outcome === "byte_limit") throw byteLimitError(quota, result.usedBytes);
      return {
        status: 201,
        headers: {
          ...quotaHeaders(quota),
          ...byteHeaders(quota, result, reserve.ahead(accountId)),
          ...replayed(result),
        },
        body: { trace_id: result.traceId },
      };
    },
  });
}

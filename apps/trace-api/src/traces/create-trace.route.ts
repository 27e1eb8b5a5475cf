import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/http";
import { planOf, utcMonth } from "@waymark/plan";
import { z } from "zod";
import { agentLimitReached, replayed, replayHeaders, traceLimitReached } from "../answers.js";
import type { IdempotencyGuard } from "../idempotency/idempotency-guard.js";
import { agentLimitError, quotaHeaderNames, quotaHeaders, traceLimitError } from "../usage/trace-quota.js";
import type { CreateTrace } from "./create-trace.js";
import { newTraceSchema } from "./trace.schema.js";

interface CreateTraceDeps {
  createTrace: CreateTrace;
  guardIdempotency: IdempotencyGuard;
  uuid(): string;
  now(): Date;
}

/** `POST /traces`: creates a trace, within the plan's limits (trace contract, "POST /api/v1/traces"). */
export function createTraceRoute({ createTrace, guardIdempotency, uuid, now }: CreateTraceDeps) {
  return route({
    method: "post",
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
        headers: [...quotaHeaderNames, ...replayHeaders],
      },
      403: agentLimitReached,
      429: traceLimitReached,
    },
    async handle({ body, idempotency, response }) {
      const { accountId, plan: planId } = principalOf(response);
      const plan = planOf(planId);
      const month = utcMonth(now());
      const trace = { accountId, traceId: uuid(), month: month.firstDay, plan, trace: body, idempotency };
      const result = await guardIdempotency(accountId, idempotency, () => createTrace(trace));
      const quota = { plan, month, used: result.used };
      if (result.outcome === "agent_limit") throw agentLimitError(quota);
      if (result.outcome === "trace_limit") throw traceLimitError(quota);
      return {
        status: 201,
        headers: { ...quotaHeaders(quota), ...replayed(result) },
        body: { trace_id: result.traceId },
      };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import { planOf, upgradePath, utcMonth } from "@waymark/plan";
import type pg from "pg";
import { z } from "zod";
import { agentLimitReached, invalidKey, monthHeaders, traceLimitReached, validationFailed } from "../api.js";
import type { Gather } from "../gather.js";
import { createTraceStore } from "./create-trace.query.js";
import { newTraceSchema } from "./trace.schema.js";

interface CreateTraceDeps {
  pool: pg.Pool;
  gather: Gather;
  uuid(): string;
  now(): Date;
}

/** `POST /traces`: creates a trace, within the plan's limits (trace contract, "POST /api/v1/traces"). */
export function createTraceRoute({ pool, gather, uuid, now }: CreateTraceDeps) {
  const createTrace = createTraceStore({ pool, gather });
  return route({
    method: "post",
    path: "/traces",
    operationId: "createTrace",
    summary: "Create a trace",
    description: "Counts one trace of the UTC month of receipt. The agent is created when it is new.",
    body: newTraceSchema,
    opaqueKeys: ["metadata"],
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
        headers: monthHeaders,
      },
      400: validationFailed,
      401: invalidKey,
      403: agentLimitReached,
      429: traceLimitReached,
    },
    async handle({ body, response }) {
      const { accountId, plan: planId } = principalOf(response);
      const plan = planOf(planId);
      const month = utcMonth(now());
      const traceId = uuid();
      const result = await createTrace({ accountId, traceId, month: month.firstDay, plan, trace: body });
      const limit = plan.tracesPerMonth;
      const headers = {
        "RateLimit-Limit": String(limit),
        "RateLimit-Remaining": String(Math.max(0, limit - result.used)),
        "RateLimit-Reset": String(month.secondsLeft),
      };
      if (result.outcome === "agent_limit") {
        throw new AppError("agent_limit", { details: { upgrade_url: upgradePath }, headers });
      }
      if (result.outcome === "trace_limit") {
        throw new AppError("trace_limit", {
          details: { limit, current: result.used, upgrade_url: upgradePath },
          headers: { ...headers, "Retry-After": String(month.secondsLeft) },
        });
      }
      return { status: 201, headers, body: { trace_id: traceId } };
    },
  });
}

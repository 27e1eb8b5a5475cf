import { canAlert } from "@waymark/alerts";
import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import { named, route } from "@waymark/service/http";
import { type Batching, finalTraceSchema } from "@waymark/traces";
import { z } from "zod";
import { traceIdOf, traceIdParameter } from "../path-ids.js";
import type { AlertQueue } from "./alert-queue.js";
import { createFinalizer } from "./finalize-trace.query.js";

interface FinalizeTraceDeps extends Batching {
  alerts: AlertQueue;
  uuid(): string;
}

/** `PATCH /traces/:trace_id`: finalizes a trace (trace contract, "PATCH /api/v1/traces/:trace_id"). */
export function finalizeTraceRoute(deps: FinalizeTraceDeps) {
  const finalizeTrace = createFinalizer(deps);
  return route({
    method: "patch",
    scope: "ingest",
    path: "/traces/:trace_id",
    operationId: "finalizeTrace",
    summary: "Finalize a trace",
    description:
      "All fields are optional; omitted fields stay unchanged. When a trace of a Pro account becomes `error` or `timeout`, the worker sends one mail. Repeating the status sends nothing. Above the hourly limits of mails, one summary covers the rest.",
    params: traceIdParameter,
    lenientQuery: [],
    body: named("TraceChange", finalTraceSchema),
    bodyExample: { status: "success", ended_at: "2026-01-31T12:00:04.250Z" },
    answers: {
      200: { description: "The trace is changed", schema: z.object({ ok: z.literal(true) }), example: { ok: true } },
    },
    async handle({ params, body, response }) {
      const { accountId, plan } = principalOf(response);
      const traceId = traceIdOf(params);
      const alertId = canAlert(planOf(plan), body.status) ? deps.uuid() : null;
      const { found, isAlertNew } = await finalizeTrace({ accountId, traceId, change: body, alertId });
      if (!found) throw new AppError("trace_not_found");
      if (isAlertNew && alertId !== null) deps.alerts.add({ accountId, alertId });
      return { status: 200, body: { ok: true } };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/service/http";
import { createTraceDeleter, type LoggedBatching } from "@waymark/traces";
import { z } from "zod";
import { traceIdOf, traceIdParameter } from "../path-ids.js";

/** `DELETE /traces/:trace_id`: removes a trace and its spans. */
export function deleteTraceRoute(deps: LoggedBatching) {
  const deleteTrace = createTraceDeleter(deps);
  return route({
    method: "delete",
    scope: "all",
    path: "/traces/:trace_id",
    operationId: "deleteTrace",
    summary: "Delete a trace with its spans",
    description: "Pending alerts of the trace are not sent. The month's count stays unchanged.",
    params: traceIdParameter,
    answers: {
      200: { description: "The trace is deleted", schema: z.object({ ok: z.literal(true) }), example: { ok: true } },
    },
    async handle({ params, response }) {
      const isDeleted = await deleteTrace(principalOf(response).accountId, traceIdOf(params));
      if (!isDeleted) throw new AppError("trace_not_found");
      return { status: 200, body: { ok: true } };
    },
  });
}

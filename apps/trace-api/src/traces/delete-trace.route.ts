import { principalOf } from "@waymark/auth";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import { z } from "zod";
import { invalidKey, traceNotFound, unknownParameter } from "../api.js";
import { createTraceDeleter, type DeleteTraceDeps } from "./delete-trace.query.js";

/** `DELETE /traces/:trace_id`: removes a trace and what belongs to it. */
export function deleteTraceRoute(deps: DeleteTraceDeps) {
  const deleteTrace = createTraceDeleter(deps);
  return route({
    method: "delete",
    path: "/traces/:trace_id",
    operationId: "deleteTrace",
    summary: "Delete a trace with its spans",
    description: "A mail that is still owed for it is not sent any more. The month's count stays as it is.",
    params: { trace_id: "The id that creating the trace answered" },
    answers: {
      200: { description: "The trace is deleted", schema: z.object({ ok: z.literal(true) }), example: { ok: true } },
      400: unknownParameter,
      401: invalidKey,
      404: traceNotFound,
    },
    async handle({ params, response }) {
      const traceId = params["trace_id"] ?? "";
      const isDeleted = isUuid(traceId) && (await deleteTrace(principalOf(response).accountId, traceId));
      if (!isDeleted) throw new AppError("trace_not_found");
      return { status: 200, body: { ok: true } };
    },
  });
}

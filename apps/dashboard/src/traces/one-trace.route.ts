import { recordAudit } from "@waymark/accounts/identity";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createTraceDeleter, findOtelTrace, findTraceName } from "@waymark/traces";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "./share-statements.js";

export type FoundTrace = AnswerOf<typeof oneTraceRoutes, "get /traces/otel/:otel_trace_id">;

export function oneTraceRoutes({ pool, registry, log }: AppDeps) {
  const deleteTrace = createTraceDeleter({ pool, createGroupCommit: shareStatements(registry), log });
  return [
    viewerRoute("get", "/traces/otel/:otel_trace_id", {
      async handle({ viewer, params }) {
        const digits = params["otel_trace_id"] ?? "";
        const id = /^[0-9a-f]{32}$/i.test(digits) ? await findOtelTrace(pool, viewer.accountId, digits) : undefined;
        if (id === undefined) throw new AppError("trace_not_found");
        return { id };
      },
    }),
    ownerRoute("delete", "/traces/:trace_id", {
      async handle({ viewer: { accountId, personId }, params }) {
        const traceId = (params["trace_id"] ?? "").toLowerCase();
        const name = isUuid(traceId) ? await findTraceName(pool, accountId, traceId) : undefined;
        if (name === undefined || !(await deleteTrace(accountId, traceId))) throw new AppError("trace_not_found");
        await recordAudit(pool, { accountId, personId, action: "trace_deleted", subject: `${name} (${traceId})` });
      },
    }),
  ];
}

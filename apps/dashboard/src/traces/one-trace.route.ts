import { recordAudit } from "@waymark/accounts/identity";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createTraceDeleter, createTracesDeleter, findOtelTrace, findTraceName } from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { manyIds, resultsOf } from "../many-ids.js";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "./share-statements.js";

export type DeletedTraces = AnswerOf<typeof oneTraceRoutes, "post /traces/delete">;
export type FoundTrace = AnswerOf<typeof oneTraceRoutes, "get /traces/otel/:otel_trace_id">;

export function oneTraceRoutes({ pool, registry, log }: AppDeps) {
  const deps = { pool, createGroupCommit: shareStatements(registry), log };
  const [deleteTrace, deleteTraces] = [createTraceDeleter(deps), createTracesDeleter(deps)];
  return [
    viewerRoute("get", "/traces/otel/:otel_trace_id", {
      async handle({ viewer, params }) {
        const digits = params["otel_trace_id"] ?? "";
        const id = /^[0-9a-f]{32}$/i.test(digits) ? await findOtelTrace(pool, viewer.accountId, digits) : undefined;
        if (id === undefined) throw new AppError("trace_not_found");
        return { id };
      },
    }),
    ownerRoute("post", "/traces/delete", {
      body: z.strictObject({ ids: manyIds }),
      async handle({ viewer: { accountId, personId }, body: { ids } }) {
        const deleted = await deleteTraces(accountId, ids);
        const [first, ...others] = deleted;
        const subject = others.length === 0 ? `${first}` : `${first} and ${others.length} more`;
        if (first !== undefined) await recordAudit(pool, { accountId, personId, action: "trace_deleted", subject });
        return resultsOf(ids, deleted);
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

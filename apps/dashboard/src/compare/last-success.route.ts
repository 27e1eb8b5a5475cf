import { AppError } from "@waymark/errors";
import { createTracePageReader, findLastSuccess, findTrace } from "@waymark/traces";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "../traces/share-statements.js";

export type LastSuccess = AnswerOf<typeof lastSuccessRoutes, "get /traces/:id/last-success">;

/** The success of the same agent to set beside a trace; null where it has none. */
export function lastSuccessRoutes({ pool, registry }: AppDeps) {
  const readPage = createTracePageReader({ pool, createGroupCommit: shareStatements(registry) });
  return [
    viewerRoute("get", "/traces/:id/last-success", {
      async handle({ viewer: { accountId }, params }) {
        const trace = await findTrace(pool, accountId, idOf(params["id"], "trace_not_found"));
        if (!trace) throw new AppError("trace_not_found");
        return { trace: (await findLastSuccess(readPage, accountId, trace)) ?? null };
      },
    }),
  ];
}

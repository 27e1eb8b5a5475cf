import { recordAudit } from "@waymark/accounts/identity";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { createTraceDeleter, findTraceName } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { ownerOf } from "../session/viewer.js";
import { shareStatements } from "./share-statements.js";

interface DeleteTraceDeps {
  pool: pg.Pool;
  registry: Registry;
  log: Logger;
}

/** `DELETE /traces/:trace_id` (owners): removes a trace with its spans, and records it. */
export function deleteTraceRoute({ pool, registry, log }: DeleteTraceDeps) {
  const deleteTrace = createTraceDeleter({ pool, createGroupCommit: shareStatements(registry), log });
  return pageRoute({
    method: "delete",
    path: "/traces/:trace_id",
    async handle({ params, response }) {
      const { accountId, personId } = ownerOf(response);
      const traceId = (params["trace_id"] ?? "").toLowerCase();
      const name = isUuid(traceId) ? await findTraceName(pool, accountId, traceId) : undefined;
      if (name === undefined || !(await deleteTrace(accountId, traceId))) throw new AppError("trace_not_found");
      await recordAudit(pool, { accountId, personId, action: "trace_deleted", subject: `${name} (${traceId})` });
      return { status: 200, body: {} };
    },
  });
}

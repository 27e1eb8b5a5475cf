import { AppError } from "@waymark/errors";
import { createRefusals, createShares, pageRoute } from "@waymark/service/http";
import { createTraceReader, largeAnswerLimits } from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { shareStatements } from "../traces/share-statements.js";
import { traceIdOf } from "./trace-id.js";

/** `GET /traces/:id/export`: the trace API's answer as a download. */
export function exportTraceRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const { readTrace } = createTraceReader({
    pool,
    createGroupCommit: shareStatements(registry),
    largeAnswers: createShares(largeAnswerLimits, createRefusals(registry)),
  });
  return pageRoute({
    method: "get",
    path: "/traces/:id/export",
    query: z.object({ include: z.enum(["attributes"]).optional() }),
    async handle({ params, query, response }) {
      const { accountId } = viewerOf(response);
      const traceId = traceIdOf(params);
      const trace = await readTrace({ accountId, traceId, withAttributes: query.include === "attributes" });
      if (!trace) throw new AppError("trace_not_found");
      const headers = { "Content-Disposition": `attachment; filename="trace-${traceId}.json"` };
      return { status: 200, headers, body: trace.body };
    },
  });
}

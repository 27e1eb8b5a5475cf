import { type CreateGroupCommit, createGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createRefusals, createShares, type Refusals, route } from "@waymark/http";
import { createTraceReader, largeAnswerLimits } from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { traceIdOf } from "./trace-id.js";

/** `GET /traces/:id/export`: the trace API's answer as a download. */
export function exportTraceRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const refusals = createRefusals(registry);
  const readTrace = createTraceReader({
    pool,
    createGroupCommit: sharedReads(refusals),
    largeAnswers: createShares(largeAnswerLimits, refusals),
  });
  return route({
    method: "get",
    path: "/traces/:id/export",
    operationId: "exportTrace",
    summary: "Download a trace as the API's answer",
    query: z.object({ include: z.enum(["attributes"]).optional() }),
    answers: { 200: { description: "The trace", schema: z.custom<object>() } },
    async handle({ params, query, response }) {
      const { accountId } = viewerOf(response);
      const traceId = traceIdOf(params);
      const body = await readTrace({ accountId, traceId, withAttributes: query.include === "attributes" });
      if (body === undefined) throw new AppError("trace_not_found");
      const headers = { "Content-Disposition": `attachment; filename="trace-${traceId}.json"` };
      return { status: 200, headers, body };
    },
  });
}

/** Reads share statements, in turns between accounts. */
function sharedReads(refusals: Refusals): CreateGroupCommit {
  return (options) => {
    const queue = createGroupCommit({
      ...options,
      ownerOf: ({ accountId }) => accountId,
      refuse: ({ scope, max }) => {
        const reason = `At most ${max} downloads may wait`;
        return scope === "owner" ? refusals.account(options.name, reason) : refusals.service(options.name, reason);
      },
    });
    return (row) => queue.add(row);
  };
}

import { pageRoute } from "@waymark/service/http";
import { modelUsageQuerySchema, modelUsageToRead, readUsageTables } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { Costs } from "./costs.schema.js";

/** `GET /costs`: tokens and money of model calls by model, by agent and by day. */
export function getCostsRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return pageRoute({
    method: "get",
    path: "/costs",
    query: modelUsageQuerySchema,
    async handle({ query, response }) {
      const read = modelUsageToRead(viewerOf(response).accountId, query, now());
      const body: Costs = {
        from: read.from,
        to: read.to,
        ...(await readUsageTables(pool, { ...read, interval: "day" })),
      };
      return { status: 200, body };
    },
  });
}

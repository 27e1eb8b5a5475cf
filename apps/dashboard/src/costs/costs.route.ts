import { modelUsageQuerySchema, modelUsageToRead, readUsageTables, type UsageTables } from "@waymark/traces";
import type pg from "pg";
import { viewerRoute } from "../session/viewer.js";

/** The answer of `GET /costs`: sums of model calls of UTC days, `to` excluded. */
export interface Costs extends UsageTables {
  from: string;
  to: string;
}

/** Tokens and money of model calls by model, by agent and by day. */
export function getCostsRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return viewerRoute("get", "/costs", {
    query: modelUsageQuerySchema,
    async handle({ viewer, query }): Promise<Costs> {
      const read = modelUsageToRead(viewer.accountId, query, now());
      const { from, to } = read;
      return { from, to, ...(await readUsageTables(pool, { ...read, interval: "day" })) };
    },
  });
}

import { daysQuerySchema, modelUsageToRead, readUsageTables } from "@waymark/traces";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type Costs = AnswerOf<typeof costRoutes, "get /costs">;

export function costRoutes({ pool, now }: AppDeps) {
  return [
    viewerRoute("get", "/costs", {
      query: daysQuerySchema,
      async handle({ viewer, query }) {
        const read = modelUsageToRead(viewer.accountId, query, now());
        const { from, to } = read;
        return { from, to, ...(await readUsageTables(pool, { ...read, interval: "day" })) };
      },
    }),
  ];
}

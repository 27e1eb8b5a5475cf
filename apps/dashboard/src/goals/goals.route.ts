import {
  createFunnel,
  createGoal,
  deleteFunnel,
  deleteGoal,
  funnelInput,
  goalInput,
  listFunnels,
  listGoals,
  rangeQuery,
  readFunnel,
  readGoals,
  readInTime,
  readOwnColumns,
  requireSite,
  resolveRange,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import type pg from "pg";
import { ownerRoute, viewerRoute } from "../session/viewer.js";

export function goalRoutes(deps: StatisticsDeps) {
  const { pool } = deps;
  return [
    viewerRoute("get", "/sites/:id/goals", {
      query: rangeQuery,
      handle(input) {
        const { asked, ...days } = resolveRange(input.query, deps.now());
        const { filters } = input.query;
        return readOwnColumns(deps, input.viewer, input, async ({ id: siteId }, columns) => {
          const read = readGoals({ ...deps, columns }, { siteId, days, filters });
          const { goals, ...rest } = await readInTime(asked, read);
          const rules = new Map((await listGoals(pool, siteId)).map((goal) => [goal.id, goal]));
          const none = { event: null, property: null, value: null, page: null };
          return { ...asked, goals: goals.map((goal) => ({ ...none, ...rules.get(goal.id), ...goal })), ...rest };
        });
      },
    }),
    viewerRoute("post", "/sites/:id/goals", {
      body: goalInput,
      status: 201,
      async handle({ viewer, params, body }) {
        const { id, name } = await createGoal(pool, await siteIdOf(pool, viewer, params), body);
        return { id, name };
      },
    }),
    ownerRoute("delete", "/sites/:id/goals/:goalId", {
      async handle({ viewer, params }) {
        const siteId = await siteIdOf(pool, viewer, params);
        await deleteGoal(pool, { siteId, goalId: params["goalId"] ?? "" });
      },
    }),
  ];
}

export function funnelRoutes(deps: StatisticsDeps) {
  const { pool } = deps;
  return [
    viewerRoute("get", "/sites/:id/funnels", {
      async handle({ viewer, params }) {
        const funnels = await listFunnels(pool, await siteIdOf(pool, viewer, params));
        const stepsOf = (steps: (typeof funnels)[number]["steps"]) =>
          steps.map(({ id: goalId, name }) => ({ goalId, name }));
        return { funnels: funnels.map(({ id, name, steps }) => ({ id, name, steps: stepsOf(steps) })) };
      },
    }),
    viewerRoute("get", "/sites/:id/funnels/:funnelId", {
      query: rangeQuery,
      handle(input) {
        const { asked, ...days } = resolveRange(input.query, deps.now());
        const { filters } = input.query;
        const funnelId = input.params["funnelId"] ?? "";
        return readOwnColumns(deps, input.viewer, input, async ({ id: siteId }, columns) => {
          const read = readFunnel({ ...deps, columns }, { siteId, funnelId, days, filters });
          return { ...asked, ...(await readInTime(asked, read)) };
        });
      },
    }),
    viewerRoute("post", "/sites/:id/funnels", {
      body: funnelInput,
      status: 201,
      handle: async ({ viewer, params, body }) => createFunnel(pool, await siteIdOf(pool, viewer, params), body),
    }),
    ownerRoute("delete", "/sites/:id/funnels/:funnelId", {
      async handle({ viewer, params }) {
        const siteId = await siteIdOf(pool, viewer, params);
        await deleteFunnel(pool, { siteId, funnelId: params["funnelId"] ?? "" });
      },
    }),
  ];
}

async function siteIdOf(pool: pg.Pool, viewer: { accountId: string }, params: Readonly<Record<string, string>>) {
  return (await requireSite(pool, viewer.accountId, params["id"] ?? "")).id;
}

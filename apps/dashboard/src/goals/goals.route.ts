import {
  changeFunnel,
  changeGoal,
  checkRange,
  comparisons,
  countRule,
  createFunnel,
  createGoal,
  deleteFunnel,
  deleteGoal,
  filtersParameter,
  funnelInput,
  funnelSteps,
  goalInput,
  listFunnels,
  listGoals,
  rangeParameters,
  readFunnels,
  readFunnelsBefore,
  readGoals,
  readGoalsBefore,
  readInTime,
  readOwnColumns,
  requireSite,
  resolveRange,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";

export type GoalInput = z.infer<typeof goalInput>;
export type FunnelInput = z.infer<typeof funnelInput>;
export type SiteGoals = AnswerOf<typeof goalRoutes, "get /sites/:id/goals">;
export type GoalCount = AnswerOf<typeof goalRoutes, "get /sites/:id/goals/count">;
export type SiteFunnels = AnswerOf<typeof funnelRoutes, "get /sites/:id/funnels">;

const range = { ...rangeParameters, filters: filtersParameter };
const comparedRange = z.object({ ...range, compare: z.enum(comparisons).default("previous") }).superRefine(checkRange);
const none = { event: null, property: null, value: null, page: null };
const { name: _, ...rule } = goalInput.shape;
const ruleQuery = z.object({ ...range, ...rule }).superRefine(checkRange);

export function goalRoutes(deps: StatisticsDeps) {
  const { pool } = deps;
  return [
    viewerRoute("get", "/sites/:id/goals", {
      query: comparedRange,
      handle(input) {
        const now = deps.now();
        const { asked, ...days } = resolveRange(input.query, now);
        const { filters, compare: comparison } = input.query;
        return readOwnColumns(deps, input.viewer, input, async ({ id: siteId }, columns) => {
          const rules = await listGoals(pool, siteId);
          const query = { siteId, days, filters, goals: rules };
          const { goals, ...rest } = await readInTime(asked, readGoals({ ...deps, columns }, query));
          const reading = readGoalsBefore({ ...deps, columns }, { ...query, comparison, now });
          const compared = await readInTime(asked, reading);
          const { goals: before, ...otherDays } = compared ?? { goals: undefined };
          const rows = goals.map((goal, at) => ({ ...none, ...rules[at], ...goal, before: before?.[at] }));
          return { ...asked, goals: rows, ...rest, ...(compared && { comparison: otherDays }) };
        });
      },
    }),
    viewerRoute("get", "/sites/:id/goals/count", {
      query: ruleQuery,
      handle(input) {
        const { range: _range, from: _from, to: _to, filters, ...rule } = input.query;
        const { asked, ...days } = resolveRange(input.query, deps.now());
        return readOwnColumns(deps, input.viewer, input, async ({ id: siteId }, columns) => {
          const reading = countRule({ ...deps, columns }, { siteId, days, filters, rule });
          return { ...asked, ...(await readInTime(asked, reading)) };
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
    ownerRoute("put", "/sites/:id/goals/:goalId", {
      body: goalInput,
      async handle({ viewer, params, body }) {
        const siteId = await siteIdOf(pool, viewer, params);
        return changeGoal(pool, { siteId, goalId: params["goalId"] ?? "" }, body);
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
      query: comparedRange,
      handle(input) {
        const now = deps.now();
        const { asked, ...days } = resolveRange(input.query, now);
        const { filters, compare: comparison } = input.query;
        return readOwnColumns(deps, input.viewer, input, async ({ id: siteId }, columns) => {
          const query = { siteId, funnels: await listFunnels(pool, siteId), days, filters };
          const { funnels, ...rest } = await readInTime(asked, readFunnels({ ...deps, columns }, query));
          const reading = readFunnelsBefore({ ...deps, columns }, { ...query, comparison, now });
          const compared = await readInTime(asked, reading);
          const { funnels: before, ...otherDays } = compared ?? { funnels: undefined };
          const rows = funnels.map((funnel, at) => ({ ...funnel, before: before?.[at]?.steps }));
          const said = { ...asked, stepsPerFunnel: funnelSteps };
          return { ...said, funnels: rows, ...rest, ...(compared && { comparison: otherDays }) };
        });
      },
    }),
    viewerRoute("post", "/sites/:id/funnels", {
      body: funnelInput,
      status: 201,
      handle: async ({ viewer, params, body }) => createFunnel(pool, await siteIdOf(pool, viewer, params), body),
    }),
    ownerRoute("put", "/sites/:id/funnels/:funnelId", {
      body: funnelInput,
      async handle({ viewer, params, body }) {
        const siteId = await siteIdOf(pool, viewer, params);
        return changeFunnel(pool, { siteId, funnelId: params["funnelId"] ?? "" }, body);
      },
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

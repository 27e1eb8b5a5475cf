import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  coverageAnswer,
  funnelFigures,
  goalFigures,
  listFunnels,
  rangeAnswer,
  rangeQuery,
  readFunnel,
  readGoals,
  readInTime,
  readOwnColumns,
  readOwnSite,
  resolveRange,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { siteAnswers, siteNotFound, unknownParameter } from "../api.js";

const funnelsSchema = named("Funnels", z.object({ funnels: z.array(z.object({ id: z.string(), name: z.string() })) }));

/** `GET /sites/:id/funnels`, an extension of the contract. */
export function listFunnelsRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/funnels",
    operationId: "listFunnels",
    summary: "List a site's funnels",
    description: "Extension of the contract: the site's funnels, oldest first. `waymark funnel create` makes one.",
    params: { id: "The site's id" },
    answers: siteAnswers(
      {
        description: "The site's funnels",
        schema: funnelsSchema,
        example: { funnels: [{ id: "01981f3a-90aa-7f0c-8a42-6d1f5b7c3e10", name: "Checkout" }] },
      },
      unknownParameter,
    ),
    async handle({ params, response }) {
      const input = { params, response, query: {} };
      const funnels = await readOwnSite(deps, principalOf(response), input, ({ id }) => listFunnels(deps.pool, id));
      return { status: 200, body: { funnels: funnels.map(({ id, name }) => ({ id, name })) } };
    },
  });
}

const funnelSchema = named("Funnel", z.object({ ...rangeAnswer, ...funnelFigures.shape, coverage: coverageAnswer }));

const example = {
  range: "7d",
  id: "01981f3a-90aa-7f0c-8a42-6d1f5b7c3e10",
  name: "Checkout",
  steps: [
    { goalId: "01981f3a-7c5e-7d1e-9d53-4c6f0a2b1e77", name: "/pricing", visitors: 120, dropOff: 0, conversionRate: 1 },
    {
      goalId: "01981f3a-83b1-7a60-b1f4-2e9d8c5a7f02",
      name: "signup",
      visitors: 30,
      dropOff: 0.75,
      conversionRate: 0.25,
    },
  ],
};

/** `GET /sites/:id/funnels/:funnelId`, an extension of the contract. */
export function getFunnelRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/funnels/:funnelId",
    operationId: "getFunnel",
    summary: "Read how far visitors went in a funnel",
    description:
      "Extension of the contract: the visitors who did a funnel's steps in their order on one UTC day, other things between allowed. One page view or custom event fulfils one step. With `filters`, the answer is of the visits that match.",
    params: { id: "The site's id", funnelId: "The funnel's id" },
    query: rangeQuery,
    answers: siteAnswers(
      { description: "The funnel's steps with their figures in the range", schema: funnelSchema, example },
      undefined,
      {
        ...siteNotFound,
        description: `${siteNotFound.description}, or the site has no such funnel`,
        example: { error: "Funnel not found" },
      },
    ),
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const funnelId = input.params["funnelId"] ?? "";
      const body = await readOwnColumns(deps, principalOf(input.response), input, ({ id: siteId }, columns) =>
        readInTime(asked, readFunnel({ ...deps, columns }, { siteId, funnelId, days, filters })),
      );
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}

const goalsSchema = named("Goals", z.object({ ...rangeAnswer, goals: z.array(goalFigures), coverage: coverageAnswer }));

/** `GET /sites/:id/goals`, an extension of the contract. */
export function getGoalsRoute(deps: StatisticsDeps) {
  return route({
    method: "get",
    path: "/sites/:id/goals",
    operationId: "getGoals",
    summary: "Read how many visitors reached each goal of a site",
    description:
      "Extension of the contract: the site's goals, oldest first. `waymark goal create` makes one, of a custom event or a page. With `filters`, the answer is of the visits that match.",
    params: { id: "The site's id" },
    query: rangeQuery,
    answers: siteAnswers({
      description: "The site's goals with their figures in the range",
      schema: goalsSchema,
      example: {
        range: "7d",
        goals: [
          {
            id: "01981f3a-7c5e-7d1e-9d53-4c6f0a2b1e77",
            name: "Purchase",
            visitors: 26,
            count: 31,
            conversionRate: 0.0351,
            revenue: [{ currency: "EUR", amount: "1240.5" }],
          },
        ],
      },
    }),
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const body = await readOwnColumns(deps, principalOf(input.response), input, ({ id: siteId }, columns) =>
        readInTime(asked, readGoals({ ...deps, columns }, { siteId, days, filters })),
      );
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  coverageAnswer,
  goalFigures,
  rangeAnswer,
  rangeQuery,
  readGoals,
  readInTime,
  readOwnColumns,
  resolveRange,
  type StatisticsDeps,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { siteAnswers } from "../api.js";

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

import { named, route } from "@waymark/service/http";
import {
  checkRange,
  coverageAnswer,
  type DayColumns,
  filtersParameter,
  type ReadShares,
  rangeAnswer,
  rangeParameters,
  readGoals,
  readInTime,
  resolveRange,
} from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery, limitHeaders, siteNotFound } from "../api.js";
import { readOwnColumns } from "../reads/read-own-site.js";

export interface GoalDeps {
  pool: pg.Pool;
  reads: ReadShares;
  columns: DayColumns;
  now(): Date;
}

/** The query parameters of goals and funnels. */
export const goalsQuery = z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange);

const goalsSchema = named(
  "Goals",
  z.object({
    ...rangeAnswer,
    goals: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        visitors: z.number().describe("Each counts once a day"),
        count: z
          .number()
          .describe("Page views or custom events, also those without a visitor where there is no filter"),
        conversionRate: z.number().describe("`visitors` by the unique visitors of the same days and filters, 0 to 1"),
        revenue: z
          .array(z.object({ currency: z.string(), amount: z.string().describe("A decimal, exact") }))
          .optional()
          .describe("Present where events had revenue"),
      }),
    ),
    coverage: coverageAnswer,
  }),
);

/** `GET /sites/:id/goals`, an extension of the contract. */
export function getGoalsRoute(deps: GoalDeps) {
  return route({
    method: "get",
    path: "/sites/:id/goals",
    operationId: "getGoals",
    summary: "Read how many visitors reached each goal of a site",
    description:
      "Extension of the contract: the site's goals, oldest first. `waymark goal create` makes one, of a custom event or a page. With `filters`, the answer is of the visits that match.",
    params: { id: "The site's id" },
    query: goalsQuery,
    answers: {
      200: {
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
        headers: limitHeaders,
      },
      400: invalidQuery,
      404: siteNotFound,
    },
    async handle(input) {
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const { filters } = input.query;
      const body = await readOwnColumns(deps, input, (siteId, columns) =>
        readInTime(asked, readGoals({ ...deps, columns }, { siteId, days, filters })),
      );
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}

import {
  checkRange,
  filtersParameter,
  type GoalFigures,
  type listGoals,
  rangeParameters,
} from "@waymark/web-stats/statistics";
import { z } from "zod";

/** The query parameters of figures of goals and funnels. */
export const goalsQuery = z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange);

/** The package checks how the parts go together, and their lengths. */
export const createGoalBody = z.strictObject({
  name: z.string().optional(),
  event: z.string().optional(),
  property: z.string().optional(),
  value: z.string().optional(),
  page: z.string().optional(),
});

export const createFunnelBody = z.strictObject({ name: z.string(), steps: z.array(z.string()) });

export interface Answer {
  range: string;
  from?: string;
  to?: string;
  coverage?: { from: string | null; to: string | null };
}

/** The answer of `GET /sites/:id/goals`: the API's members, and what fulfils each goal. */
export interface SiteGoals extends Answer {
  goals: (GoalFigures & Awaited<ReturnType<typeof listGoals>>[number])[];
}

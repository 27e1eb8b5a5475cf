import {
  type CustomEvent,
  checkRange,
  comparisons,
  filtersParameter,
  limitParameter,
  listsParameter,
  type Overview,
  rangeParameters,
  type Site,
  type Statistics,
} from "@waymark/web-stats/statistics";
import { z } from "zod";

/** The query parameters of `GET /sites/:id/stats`. */
export const siteStatsQuery = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: listsParameter,
    filters: filtersParameter,
    compare: z.enum(comparisons).default("previous"),
    csv: z.enum(["1"]).optional().describe("Answers the one list that `lists` names as a file"),
  })
  .superRefine(checkRange);

/** The query parameters of `GET /sites/:id/events`. */
export const siteEventsQuery = z.object({ ...rangeParameters, filters: filtersParameter }).superRefine(checkRange);

/** The answer of `GET /sites/:id/stats`: the API's members, and what a page needs beside them. */
export type SiteStats = Statistics & {
  site: Site;
  /** The asked UTC days, both included. */
  days: { first: string; last: string };
  now: string;
  /** Whether the site ever had an event. */
  hasEvents: boolean;
  overview: Overview;
};

/** The answer of `GET /sites/:id/events`: the API's members and the site. */
export interface SiteEvents {
  range: string;
  from?: string;
  to?: string;
  site: Site;
  days: { first: string; last: string };
  now: string;
  events: CustomEvent[];
  coverage?: Statistics["coverage"];
}

/** The answer of `GET /sites/:id/realtime`. */
export interface SiteRealtime {
  since: string;
  visitors: number;
}

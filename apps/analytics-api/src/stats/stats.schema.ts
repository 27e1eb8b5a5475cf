import { named } from "@waymark/service/http";
import { type ListName, listNames, lists } from "@waymark/web-stats/lists";
import {
  checkRange,
  countAskedDays,
  coverageAnswer,
  engagementNames,
  filtersParameter,
  intervals,
  limitParameter,
  listsParameter,
  maxDaysByHour,
  metricNames,
  metricsParameter,
  rangeAnswer,
  rangeParameters,
} from "@waymark/web-stats/statistics";
import { z } from "zod";

const contractNames = listNames.filter((name) => lists[name].isInContract);
const furtherNames = listNames.filter((name) => !lists[name].isInContract);
/** The query parameters of `GET /sites/:id/stats`. */
export const statsQuery = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: listsParameter,
    metrics: metricsParameter,
    filters: filtersParameter,
    interval: z
      .enum(intervals)
      .optional()
      .describe(
        `Extension: adds \`series\`, the figures of every hour (of at most ${maxDaysByHour} days), day, week from Monday, or month`,
      ),
    compare: z.enum(["previous"]).optional().describe("Extension: adds `previous`, the totals of the days before"),
  })
  .superRefine(checkRange)
  .superRefine((query, context) => {
    if (query.interval !== "hour" || countAskedDays(query) <= maxDaysByHour) return;
    const message = `Must be day, week or month for more than ${maxDaysByHour} days`;
    context.addIssue({ code: "custom", path: ["interval"], message });
  });

const count = z.number();

const metrics = Object.fromEntries(
  metricNames.map((name) => [name, count.optional().describe("Extension: present when `metrics` names it")]),
);

const engagement = Object.fromEntries(
  engagementNames.map((name) => [
    name,
    count.nullable().optional().describe("Extension: present when `metrics` names it; null without a report"),
  ]),
);

/** The answer of `GET /sites/:id/stats`: the contract's members, then the extensions. */
export const statsAnswer = named(
  "Stats",
  z.object({
    ...rangeAnswer,
    pageviews: count,
    uniqueVisitors: count,
    ...metrics,
    ...engagement,
    ...Object.fromEntries(contractNames.map((name) => [name, describeList(name)])),
    ...Object.fromEntries(
      furtherNames.map((name) => [
        name,
        describeList(name).optional().describe("Extension: present when `lists` names it"),
      ]),
    ),
    series: z
      .array(
        z.object({
          ...Object.fromEntries(intervals.map((interval) => [interval, z.string().optional()])),
          visitors: count,
          pageviews: count,
          ...metrics,
        }),
      )
      .optional()
      .describe("Extension: with `interval`, every hour, day, week or month of the range in order, under its name"),
    previous: z
      .object({
        from: z.string(),
        to: z.string(),
        pageviews: count,
        uniqueVisitors: count,
        ...metrics,
        ...engagement,
        coverage: coverageAnswer,
      })
      .optional()
      .describe("Extension: with `compare=previous`, the totals of as many whole days before the range"),
    coverage: coverageAnswer,
  }),
);

function describeList(name: ListName): z.ZodType {
  const { key, showsPageviews, isWhole } = lists[name];
  const figures = {
    visitors: count,
    ...(showsPageviews && { pageviews: count }),
    ...metrics,
    ...(name === "topPages" && engagement),
  };
  return isWhole ? z.record(z.string(), z.object(figures)) : z.array(z.object({ [key]: z.string(), ...figures }));
}

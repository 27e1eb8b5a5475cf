import { principalOf } from "@waymark/auth";
import { validationError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import { contractNames, furtherNames, type ListName, lists } from "@waymark/web-stats/lists";
import {
  checkRange,
  countAskedDays,
  coverageAnswer,
  csvType,
  engagementNames,
  engagementNeeds,
  type FigureMemory,
  type Filtering,
  filtersParameter,
  intervals,
  limitParameter,
  listsParameter,
  maxDaysByHour,
  metricNames,
  metricsParameter,
  rangeAnswer,
  rangeParameters,
  readInTime,
  readList,
  readOwnSite,
  readStatistics,
  resolveRange,
  type StatisticsDeps,
  writeCsv,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { limitHeaders, otherNote, prefersCsv, siteAnswers } from "../api.js";

const statsQuery = z
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

const members = <Name extends string>(names: readonly Name[], schemaOf: (name: Name) => z.ZodType) =>
  Object.fromEntries(names.map((name) => [name, schemaOf(name)]));

const metrics = members(metricNames, () => count.optional().describe("Extension: present when `metrics` names it"));

const engagement = members(engagementNames, () =>
  count.nullable().optional().describe("Extension: present when `metrics` names it; null without a report"),
);

/** The answer of `GET /sites/:id/stats`: the contract's members, then the extensions. */
const statsAnswer = named(
  "Stats",
  z.object({
    ...rangeAnswer,
    pageviews: count,
    uniqueVisitors: count,
    ...metrics,
    ...engagement,
    ...members(contractNames, describeList),
    ...members(furtherNames, (name) =>
      describeList(name).optional().describe("Extension: present when `lists` names it"),
    ),
    series: z
      .array(
        z.object({
          ...members(intervals, () => z.string().optional()),
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

const example = {
  range: "7d",
  pageviews: 1920,
  uniqueVisitors: 741,
  topPages: [{ path: "/", visitors: 213, pageviews: 260 }],
  topReferrers: [{ source: "Google", visitors: 318 }],
  topCountries: [{ country: "NL", visitors: 44 }],
  channels: { Search: { visitors: 331, pageviews: 402 }, Direct: { visitors: 290, pageviews: 1210 } },
};

const description = `A visitor counts once per UTC day, without cookies; over several days visitors are the sum of the daily visitors. Lists are in order of visitors.

Extensions: \`from\` and \`to\`, \`lists\`, \`metrics\`, \`filters\`, \`interval\` and \`compare\` add members to the answer or narrow it; without them it has exactly the members of the example. With \`Accept: text/csv\` and one name in \`lists\` the answer is this list as CSV (RFC 4180). A value begins with an apostrophe if a spreadsheet would read it as a formula.

${otherNote}`;

/** `GET /sites/:id/stats` (statistics contract, "GET /api/v1/sites/:id/stats"), with extensions. */
export function getStatsRoute(deps: StatisticsDeps & { memory: FigureMemory }) {
  const { pool, memory, now } = deps;
  return route({
    method: "get",
    path: "/sites/:id/stats",
    operationId: "getStats",
    summary: "Read a site's summary, top lists and channels",
    description,
    params: { id: "The site's id" },
    query: statsQuery,
    lenientQuery: ["range"],
    answers: siteAnswers({
      description: "The site's figures in the range",
      schema: statsAnswer,
      example,
      otherMedia: { "text/csv": { schema: z.string(), example: writeCsv("topPages", example.topPages) } },
      headers: [...limitHeaders, "Vary"],
    }),
    async handle(input) {
      const { query, request, response } = input;
      response.vary("Accept");
      const csvList = prefersCsv(request) ? requireOneList(query) : undefined;
      const { limit, lists, interval, compare, metrics, filters } = query;
      const refusal = engagementNeeds(metrics, filters);
      if (refusal) throw validationError({ filters: refusal });
      const range = resolveRange(query, now());
      const read = <Result>(work: (siteId: string, filtering: Filtering | undefined) => Promise<Result>) =>
        readOwnSite(deps, principalOf(response), input, ({ id }, filtering) =>
          readInTime(range.asked, work(id, filtering)),
        );
      if (csvList) {
        const rows = await read((siteId, filtering) =>
          readList(pool, { siteId, range, list: csvList, limit, metrics, filtering }),
        );
        return { status: 200, contentType: csvType, body: writeCsv(csvList, rows, metrics) };
      }
      const asked = { range, lists, limit, interval, withPrevious: compare === "previous", metrics, memory };
      const body = await read((siteId, filtering) => readStatistics(pool, { siteId, filtering, ...asked }));
      return { status: 200, body };
    },
  });
}

/** @throws AppError 400 for a query that CSV, which holds the rows of one list, cannot answer */
function requireOneList({ lists, interval, compare }: z.output<typeof statsQuery>): ListName {
  const [name, ...more] = lists;
  const fields: Record<string, string> = {};
  if (name === undefined || more.length > 0) fields["lists"] = "Must name exactly one list for text/csv";
  if (interval) fields["interval"] = "Must not be given for text/csv";
  if (compare) fields["compare"] = "Must not be given for text/csv";
  if (name === undefined || Object.keys(fields).length > 0) throw validationError(fields);
  return name;
}

import { principalOf } from "@waymark/auth";
import { validationError } from "@waymark/errors";
import { asParameter } from "@waymark/fields";
import { named, route } from "@waymark/http";
import {
  type AskedRange,
  checkRange,
  contractLists,
  csvType,
  type Days,
  findList,
  foldedNote,
  furtherLists,
  listDays,
  presentList,
  previousDays,
  rangeParameters,
  readInTime,
  readStats,
  requireSite,
  resolveRange,
  type StatList,
  type StatRow,
  writeCsv,
} from "@waymark/statistics";
import type pg from "pg";
import { z } from "zod";
import { commonAnswers, invalidQuery, limitHeaders, siteNotFound } from "../api.js";
import type { ReadShares } from "../reads/read-shares.js";
import { furtherListsShape, listsParameter } from "./lists-parameter.js";
import { prefersCsv } from "./stats-csv.js";

const count = z.number();

const statsSchema = named(
  "Stats",
  z.object({
    range: z.string(),
    from: z.string().optional().describe("Extension: where `from` and `to` were asked for; `range` is then `custom`"),
    to: z.string().optional(),
    pageviews: count,
    uniqueVisitors: count,
    topPages: z.array(z.object({ path: z.string(), visitors: count, pageviews: count })),
    topReferrers: z.array(z.object({ source: z.string(), visitors: count })),
    topCountries: z.array(z.object({ country: z.string(), visitors: count })),
    channels: z.record(z.string(), z.object({ visitors: count, pageviews: count })),
    ...furtherListsShape,
    series: z
      .array(z.object({ day: z.string(), visitors: count, pageviews: count }))
      .optional()
      .describe("Extension: with `interval=day`, every day of the range in order"),
    previous: z
      .object({ from: z.string(), to: z.string(), pageviews: count, uniqueVisitors: count })
      .optional()
      .describe("Extension: with `compare=previous`, the totals of as many whole days before the range"),
  }),
);

/** `?limit=` as a whole number in digits; a repeated parameter is an array and no text. */
const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: 1_000, default: 10 },
  z
    .string()
    .regex(/^\d{1,4}$/, "Must be a whole number from 1 to 1000")
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 1_000, "Must be a whole number from 1 to 1000")
    .default(10)
    .describe("Entries of each top list, 1 to 1000"),
);

const querySchema = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: listsParameter,
    interval: z.enum(["day"]).optional().describe("Extension: adds `series`, the figures of every day"),
    compare: z.enum(["previous"]).optional().describe("Extension: adds `previous`, the totals of the days before"),
  })
  .superRefine(checkRange);

type StatsParameters = z.output<typeof querySchema>;

const example = {
  range: "7d",
  pageviews: 1920,
  uniqueVisitors: 741,
  topPages: [{ path: "/", visitors: 213, pageviews: 260 }],
  topReferrers: [{ source: "Google", visitors: 318 }],
  topCountries: [{ country: "NL", visitors: 44 }],
  channels: { Search: { visitors: 331, pageviews: 402 }, Direct: { visitors: 290, pageviews: 1210 } },
};

const description = `A visitor is counted per UTC day, without cookies; over several days visitors are the sum of the daily ones. Lists are ordered by visitors.

Beyond the contract: \`from\` and \`to\`, \`lists\`, \`interval\` and \`compare\` add members to the answer; without them it has exactly those of the example. With \`Accept: text/csv\` and one name in \`lists\` the answer is that list as CSV (RFC 4180); a value that a spreadsheet would take for a formula has an apostrophe before it.

${foldedNote}`;

/** `GET /sites/:id/stats`: summary and top lists (statistics contract, "GET /api/v1/sites/:id/stats"), and extensions. */
export function getStatsRoute({ pool, reads, now }: { pool: pg.Pool; reads: ReadShares; now(): Date }) {
  return route({
    method: "get",
    path: "/sites/:id/stats",
    operationId: "getStats",
    summary: "Read a site's summary, top lists and channels",
    description,
    params: { id: "The site's id" },
    query: querySchema,
    lenientQuery: ["range"],
    answers: {
      200: {
        description: "The site's figures in the range",
        schema: statsSchema,
        example,
        otherMedia: { "text/csv": { schema: z.string(), example: writeCsv(contractLists.topPages, example.topPages) } },
        headers: [...limitHeaders, "Vary"],
      },
      400: invalidQuery,
      ...commonAnswers,
      404: siteNotFound,
    },
    async handle({ params, query, request, response }) {
      response.vary("Accept");
      const csvList = prefersCsv(request) ? requireOneList(query) : undefined;
      const siteId = params["id"] ?? "";
      const { accountId } = principalOf(response);
      await requireSite(pool, accountId, siteId);
      const { asked, ...days } = resolveRange(query, now());
      const previous = query.compare && previousDays(days);
      const asJson = new Set<StatList>([...Object.values(contractLists), ...query.lists.map(findList)]);
      const lists = csvList ? [csvList] : [...asJson];
      const totalsFrom = (previous ?? days).first;
      const wanted = { siteId, ...days, totalsFrom, lists, limit: query.limit };
      const rows = await readInTime(
        asked,
        reads.read(
          accountId,
          () => readStats(pool, wanted),
          () => response.destroyed,
        ),
      );
      if (csvList) return { status: 200, contentType: csvType, body: writeCsv(csvList, presentList(csvList, rows)) };
      return {
        status: 200,
        body: { ...present(asked, days, rows), ...presentExtensions(query, days, previous, rows) },
      };
    },
  });
}

/** @throws AppError 400 where CSV, which has the rows of one list and nothing else, cannot hold what is asked for */
function requireOneList({ lists, interval, compare }: StatsParameters) {
  const [name, ...more] = lists;
  const fields: Record<string, string> = {};
  if (name === undefined || more.length > 0) fields["lists"] = "Must name exactly one list for text/csv";
  if (interval) fields["interval"] = "Must not be given for text/csv";
  if (compare) fields["compare"] = "Must not be given for text/csv";
  if (name === undefined || Object.keys(fields).length > 0) throw validationError(fields);
  return findList(name);
}

function present(asked: AskedRange, days: Days, rows: readonly StatRow[]): z.output<typeof statsSchema> {
  const of = (dimension: StatRow["dimension"]) => rows.filter((row) => row.dimension === dimension);
  return {
    ...asked,
    ...sumTotals(days, rows),
    topPages: of("page").map(({ value, visitors, pageviews }) => ({ path: value, visitors, pageviews })),
    topReferrers: of("source").map(({ value, visitors }) => ({ source: value, visitors })),
    topCountries: of("country").map(({ value, visitors }) => ({ country: value, visitors })),
    channels: Object.fromEntries(
      of("channel").map(({ value, visitors, pageviews }) => [value, { visitors, pageviews }]),
    ),
  };
}

/** The members that were asked for beyond the contract. */
function presentExtensions(
  { lists, interval }: StatsParameters,
  days: Days,
  previous: Days | undefined,
  rows: readonly StatRow[],
) {
  const further = Object.entries(furtherLists).filter(([name]) => lists.some((asked) => asked === name));
  return {
    ...Object.fromEntries(further.map(([name, list]) => [name, presentList(list, rows)])),
    ...(interval && { series: presentSeries(days, rows) }),
    ...(previous && { previous: { from: previous.first, to: previous.last, ...sumTotals(previous, rows) } }),
  };
}

function sumTotals({ first, last }: Days, rows: readonly StatRow[]) {
  const totals = { pageviews: 0, uniqueVisitors: 0 };
  for (const { dimension, value, visitors, pageviews } of rows) {
    if (dimension !== "total" || value < first || value > last) continue;
    totals.pageviews += pageviews;
    totals.uniqueVisitors += visitors;
  }
  return totals;
}

function presentSeries(days: Days, rows: readonly StatRow[]) {
  const totals = new Map(rows.filter(({ dimension }) => dimension === "total").map((row) => [row.value, row]));
  return listDays(days).map((day) => {
    const { visitors = 0, pageviews = 0 } = totals.get(day) ?? {};
    return { day, visitors, pageviews };
  });
}

import { principalOf } from "@waymark/auth";
import { route } from "@waymark/http";
import type pg from "pg";
import { z } from "zod";
import { commonAnswers, invalidQuery, limitHeaders, siteNotFound } from "../api.js";
import { daysOf, type Range, rangeParameter } from "../range.js";
import { requireSite } from "../sites/find-site.query.js";
import { readStats, type StatRow } from "./read-stats.query.js";

const count = z.number();

const statsSchema = z.object({
  range: z.string(),
  pageviews: count,
  uniqueVisitors: count,
  topPages: z.array(z.object({ path: z.string(), visitors: count, pageviews: count })),
  topReferrers: z.array(z.object({ source: z.string(), visitors: count })),
  topCountries: z.array(z.object({ country: z.string(), visitors: count })),
  channels: z.record(z.string(), z.object({ visitors: count, pageviews: count })),
});

/** `?limit=` as a whole number in digits; a repeated parameter is an array and no text. */
const limitParameter = z
  .string()
  .regex(/^\d{1,4}$/, "Must be a whole number from 1 to 1000")
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 1_000, "Must be a whole number from 1 to 1000")
  .default(10)
  .meta({ description: "Entries of each top list, 1 to 1000" });

/** `GET /sites/:id/stats`: summary and top lists (statistics contract, "GET /api/v1/sites/:id/stats"). */
export function getStatsRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return route({
    method: "get",
    path: "/sites/:id/stats",
    operationId: "getStats",
    summary: "Read a site's summary, top lists and channels",
    description:
      "A visitor is counted per UTC day, without cookies; over several days visitors are the sum of the daily ones. Lists are ordered by visitors.",
    params: { id: "The site's id" },
    query: z.object({ range: rangeParameter, limit: limitParameter }),
    answers: {
      200: {
        description: "The site's figures in the range",
        schema: statsSchema,
        example: {
          range: "7d",
          pageviews: 1920,
          uniqueVisitors: 741,
          topPages: [{ path: "/", visitors: 213, pageviews: 260 }],
          topReferrers: [{ source: "Google", visitors: 318 }],
          topCountries: [{ country: "NL", visitors: 44 }],
          channels: { Search: { visitors: 331, pageviews: 402 }, Direct: { visitors: 290, pageviews: 1210 } },
        },
        headers: limitHeaders,
      },
      400: invalidQuery,
      ...commonAnswers,
      404: siteNotFound,
    },
    async handle({ params, query, response }) {
      const siteId = params["id"] ?? "";
      await requireSite(pool, principalOf(response).accountId, siteId);
      const { range, limit } = query;
      const rows = await readStats(pool, { siteId, ...daysOf(range, now()), limit });
      return { status: 200, body: present(range, rows) };
    },
  });
}

function present(range: Range, rows: readonly StatRow[]): z.output<typeof statsSchema> {
  const of = (dimension: StatRow["dimension"]) => rows.filter((row) => row.dimension === dimension);
  const [total] = of("total");
  return {
    range,
    pageviews: total?.pageviews ?? 0,
    uniqueVisitors: total?.visitors ?? 0,
    topPages: of("page").map(({ value, visitors, pageviews }) => ({ path: value, visitors, pageviews })),
    topReferrers: of("source").map(({ value, visitors }) => ({ source: value, visitors })),
    topCountries: of("country").map(({ value, visitors }) => ({ country: value, visitors })),
    channels: Object.fromEntries(
      of("channel").map(({ value, visitors, pageviews }) => [value, { visitors, pageviews }]),
    ),
  };
}

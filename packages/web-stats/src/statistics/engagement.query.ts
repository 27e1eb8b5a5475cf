import type pg from "pg";
import { otherValue } from "../lists/lists.js";
import type { Filter } from "./filters/filter.js";
import { type AskedMetric, type EngagementMetric, engagementNames, isOfEngagement } from "./metrics.js";
import { type Days, eventSpan } from "./range.js";

/** Null where no visitor reported. */
type Engagement = Record<EngagementMetric, number | null>;

/** Days with reports of engagement. Reads a range of `daily_stat_pkey`. */
const readDaysSql = `
  SELECT day::text FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND value = '' AND day BETWEEN $2 AND $3 AND engagements > 0`;

/**
 * The engagement of all pages (a null path) and of each asked one. A visitor's reports of a page on a day belong to its views of
 * the page on that day, one at least, so visitors who report nothing count for nothing. Reads a range of `event_pkey` a day.
 */
const readEngagementSql = (conditions: string) => `
  WITH report AS (
    SELECT report.* FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[]) AS span (first_id, end_id, start, stop)
    CROSS JOIN LATERAL (
      SELECT path, sum(engaged_ms) AS ms, max(scroll_depth) AS depth,
        greatest(count(*) FILTER (WHERE type = 'pageview'), 1) AS views
      FROM event
      WHERE site_id = $1 AND id >= first_id AND id < end_id AND at >= start AND at < stop AND visitor IS NOT NULL
        AND type IN ('pageview', 'engagement') AND path IS NOT NULL${conditions}
      GROUP BY path, visitor HAVING bool_or(type = 'engagement')
    ) AS report
  )
  SELECT path, (sum(ms) / 1000.0 / sum(views) FILTER (WHERE ms IS NOT NULL))::float8 AS "timeOnPage",
    avg(depth)::float8 AS "scrollDepth"
  FROM report GROUP BY GROUPING SETS ((), (path)) HAVING grouping(path) = 1 OR path = ANY($6::text[])`;

interface EngagementQuery extends Days {
  siteId: string;
  metrics: readonly AskedMetric[];
  /** The pages to answer beside the total. */
  paths: readonly string[];
  /** Those that `engagementNeeds` lets pass. */
  filters: readonly Filter[];
}

/** Members of an answer: none if none are asked for, null for `(other)`, which stands for many pages. */
export type EngagementOf = (path: string | null) => Partial<Engagement>;

/** Reads the asked figures in total and by page; the path of the total is null. */
export async function readEngagementOf(pool: pg.Pool, query: EngagementQuery): Promise<EngagementOf> {
  const { siteId, first, last, paths, filters } = query;
  const names = query.metrics.filter(isOfEngagement);
  if (names.length === 0) return () => ({});
  const asked = { name: "read-engagement-days", text: readDaysSql, values: [siteId, first, last] };
  const days = (await pool.query<{ day: string }>(asked)).rows;
  const spans = days.map(({ day }) => eventSpan(day));
  const columns = [0, 1, 2, 3].map((column) => spans.map((span) => span[column]));
  const conditions = filters.map(
    ({ isPart }, index) =>
      ` AND EXISTS (SELECT FROM unnest($${index + 7}::text[]) AS wanted WHERE ${isPart ? "position(wanted IN path) > 0" : "path = wanted"})`,
  );
  const values = [siteId, ...columns, paths, ...filters.map((filter) => filter.values.filter(isStorable))];
  const { rows } = await pool.query<Engagement & { path: string | null }>(
    readEngagementSql(conditions.join("")),
    values,
  );
  const found = new Map(rows.map((row) => [row.path, row]));
  return (path) => {
    const engagement = path === otherValue ? undefined : found.get(path);
    return Object.fromEntries(names.map((name) => [name, engagement?.[name] ?? null]));
  };
}

/** Whether a path can be this text: Postgres has no NUL and no half of a surrogate pair. */
function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Why filters do not go with metrics; undefined if they do. Reports of engagement name a page and no visit. */
export function engagementNeeds(metrics: readonly AskedMetric[], filters: readonly Filter[]): string | undefined {
  if (!metrics.some(isOfEngagement)) return undefined;
  const isOfPage = ({ subject, isNegated }: Filter) =>
    subject.kind === "event" && subject.dimension === "page" && !isNegated;
  if (filters.every(isOfPage)) return undefined;
  return `Must be of page with is or contains if metrics has ${engagementNames.join(" or ")}`;
}

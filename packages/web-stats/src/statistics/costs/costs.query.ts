import type { Queryable } from "@waymark/database";
import { otherValue } from "../../lists/lists.js";
import type { SiteDay } from "../columns/collect-part.js";
import type { Days } from "../range.js";

/** In the order in which groups are made: earlier ones are the more exact. */
export const costDimensions = ["channel", "source", "page", "goal"] as const;

export type CostDimension = (typeof costDimensions)[number];

export interface CostSums {
  readonly dimension: CostDimension;
  readonly value: string;
  readonly visits: number;
  readonly runs: number;
  readonly failures: number;
  /** In units of 10^-12 dollars. */
  readonly cost: string;
  readonly durationMs: number;
  readonly conversions: number;
  readonly revenue: readonly { currency: string; amount: string }[];
}

/** Adds a day's rows to `visit_cost_pkey`. */
const storeSql = `
  INSERT INTO visit_cost (site_id, day, dimension, value, visits, runs, failures, cost, duration_ms, conversions, revenue)
  SELECT $1, $2, dimension, value, visits, runs, failures, cost / 1e12, "durationMs", conversions, revenue
  FROM json_to_recordset($3) AS r (dimension text, value text, visits int, runs int, failures int, cost numeric,
    "durationMs" bigint, conversions int, revenue json)`;

export async function storeCosts(
  client: Queryable,
  { siteId, day }: SiteDay,
  rows: readonly CostSums[],
): Promise<void> {
  if (rows.length > 0) await client.query(storeSql, [siteId, day, JSON.stringify(rows)]);
}

/** The sums of a dimension's values, those that cost most first, `(other)` last: a range of `visit_cost_pkey`. */
const readSql = `
  SELECT value, sum(visits)::float8 AS visits, sum(runs)::float8 AS runs, sum(failures)::float8 AS failures,
    trim_scale(sum(cost))::text AS cost_usd, sum(duration_ms)::float8 AS duration_ms,
    sum(conversions)::float8 AS conversions, (json_agg(revenue) FILTER (WHERE revenue::text <> '[]'))::text AS revenue
  FROM visit_cost WHERE site_id = $1 AND dimension = $2 AND day BETWEEN $3 AND $4
  GROUP BY value ORDER BY value = '${otherValue}', sum(cost) DESC, sum(runs) DESC, value COLLATE "C" LIMIT $5`;

interface StoredCosts {
  value: string;
  visits: number;
  runs: number;
  failures: number;
  cost_usd: string;
  duration_ms: number;
  conversions: number;
  /** A list for each day with some, as JSON. */
  revenue: string | null;
}

export async function readStoredCosts(
  pool: Queryable,
  { siteId, by, first, last, limit }: { siteId: string; by: CostDimension; limit: number } & Days,
): Promise<StoredCosts[]> {
  const values = [siteId, by, first, last, limit];
  return (await pool.query<StoredCosts>({ name: "read-costs", text: readSql, values })).rows;
}

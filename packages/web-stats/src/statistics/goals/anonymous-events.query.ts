import { inTransaction, withConnection } from "@waymark/database";
import type pg from "pg";
import { TextCollector } from "../columns/block.js";
import { type Days, eventSpan } from "../range.js";
import type { Work } from "../work.js";
import { addRevenue, type GoalTally, readRevenue } from "./count-goals.js";
import type { Goal } from "./goal.js";
import { matchGoals } from "./match-goals.js";

/** The page views and custom events of each day, with a visitor or without. A range of `daily_stat_pkey`. */
const readDayCountsSql = `
  SELECT day::text, (pageviews + events)::float8 AS count FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND value = '' AND day BETWEEN $2 AND $3`;

/** A day with more events than its visitors have has events without a visitor. */
export async function readDayCounts(
  pool: pg.Pool,
  { siteId, days }: { siteId: string; days: Days },
): Promise<Map<string, number>> {
  const query = { name: "read-day-counts", text: readDayCountsSql, values: [siteId, days.first, days.last] };
  const { rows } = await pool.query<{ day: string; count: number }>(query);
  return new Map(rows.map(({ day, count }) => [day, count]));
}

interface AnonymousRow {
  name: string | null;
  path: string | null;
  props: string | null;
  count: number;
  currency: string | null;
  amount: string | null;
}

/** A UTC day's events of some names, and page views, without a visitor; alike ones are one row. Reads a range of `event_pkey`. */
const readAnonymousSql = `
  DECLARE anonymous NO SCROLL CURSOR FOR
  SELECT name, CASE WHEN type = 'pageview' THEN path END AS path, CASE WHEN $8 THEN props::text END AS props,
    count(*)::float8 AS count, revenue_currency AS currency, sum(revenue_amount)::text AS amount
  FROM event
  WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4 AND at < $5 AND visitor IS NULL
    AND (type = 'event' AND name = ANY ($6::text[]) OR type = 'pageview' AND $7)
  GROUP BY 1, 2, 3, revenue_currency`;

const dayMs = 86_400_000;

/** Rows have up to 11 KB. */
const batchRows = 1_000;

/** Adds a day's events without a visitor to the counts of goals, some rows at a time. */
export async function countAnonymous(
  pool: pg.Pool,
  asked: { siteId: string; day: string; goals: readonly Goal[]; tallies: readonly GoalTally[]; work: Work },
): Promise<void> {
  const { siteId, day, goals } = asked;
  const values = [
    siteId,
    ...eventSpan(Date.parse(day), dayMs),
    goals.flatMap(({ event }) => event ?? []),
    goals.some(({ page }) => page !== null),
    goals.some(({ property }) => property !== null),
  ];
  await withConnection(pool, (client) =>
    inTransaction(client, async () => {
      await client.query(readAnonymousSql, values);
      for (;;) {
        const { rows } = await client.query<AnonymousRow>(`FETCH ${batchRows} FROM anonymous`);
        await addRows(rows, asked);
        if (rows.length < batchRows) return;
      }
    }),
  );
}

async function addRows(
  rows: readonly AnonymousRow[],
  { goals, tallies, work }: { goals: readonly Goal[]; tallies: readonly GoalTally[]; work: Work },
): Promise<void> {
  const columnOf = (key: "name" | "path" | "props") => {
    const column = new TextCollector();
    for (const row of rows) column.push(row[key]);
    return column.finish();
  };
  const [names, pages, props] = [columnOf("name"), columnOf("path"), columnOf("props")];
  const { candidates, fulfils } = await matchGoals({ names, pages, props }, goals, work);
  for (const [index, { count, currency, amount }] of rows.entries()) {
    if (work.spend(2 * tallies.length)) await work.rest();
    for (const [goal, tally] of tallies.entries()) {
      if ((candidates(index, goal >>> 5) & (1 << (goal & 31))) === 0 || !fulfils(goal, index)) continue;
      tally.count += count;
      const revenue = currency !== null && amount !== null ? readRevenue(`${currency} ${amount}`) : undefined;
      if (revenue) addRevenue(tally.revenue, revenue);
    }
  }
}

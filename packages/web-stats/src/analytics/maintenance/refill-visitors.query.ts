import type pg from "pg";
import type { SiteDay } from "../recording/record-events.query.js";
import { createViewsSql } from "./count-stats.query.js";
import { countedVisitors, createDaySql, readTotalSql, withDay } from "./rebuild-rollups.query.js";

/** Days with counted visitors and without any of their rows, by probes of both primary keys. */
const listDroppedSql = `
  SELECT day::text FROM unnest($2::date[]) AS each (day)
  WHERE EXISTS (
    SELECT FROM daily_stat WHERE (site_id, dimension, day, value) = ($1, 'total', each.day, '') AND visitors > 0
  ) AND NOT EXISTS (SELECT FROM daily_visitor AS known WHERE known.site_id = $1 AND known.day = each.day)`;

const insertSql = `
  INSERT INTO daily_visitor (site_id, day, visitor, seen, entry_at, entry_id, entry_path)
  SELECT $1::uuid, $2::date, visitor, seen, entry_at, entry_id, entry_path FROM (${countedVisitors}) AS counted`;

/**
 * Makes the rows of visitors anew, from raw events, for days whose rows were dropped; then a late event counts nobody twice.
 * Retention drops or empties whole partitions, so a day has all its rows or none, and they stay while this transaction lasts.
 * @param client a connection in a transaction with the site's lock, which may make temporary tables
 * @param days UTC days of new events
 */
export async function refillVisitors(client: pg.ClientBase, siteId: string, days: Iterable<string>): Promise<void> {
  const { rows } = await client.query<{ day: string }>(listDroppedSql, [siteId, [...new Set(days)]]);
  for (const { day } of rows) await refillDay(client, { siteId, day });
}

async function refillDay(client: pg.ClientBase, siteDay: SiteDay): Promise<void> {
  const values = [siteDay.siteId, siteDay.day];
  const create = async (sql: string, table: string) => {
    await client.query(`DROP TABLE IF EXISTS pg_temp.${table}`);
    return client.query(withDay(sql, siteDay));
  };
  const { rows } = await client.query<{ total: number }>(readTotalSql, values);
  const { rowCount } = await create(createDaySql(false), "day_event");
  if ((rowCount ?? 0) < (rows[0]?.total ?? 0)) await create(createDaySql(true), "day_event");
  await create(createViewsSql, "day_view");
  await client.query(insertSql, values);
}

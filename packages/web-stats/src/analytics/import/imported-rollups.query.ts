import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import type { DayOccurrence, DayStat } from "../formats/plausible-export.js";
import { eventRowBytes, maxEventBytesPerDay } from "../recording/event-overflow.js";
import { maxValuesPerDay } from "../recording/list-overflow.js";
import { type StatChange, statFigures } from "../recording/stat-table.js";

const second = 1_000_000;

/** The columns of sums as `daily_stat` has them. */
const read: Readonly<Record<keyof StatChange, (stat: DayStat) => number>> = {
  visitors: ({ visitors }) => visitors,
  pageviews: ({ pageviews }) => pageviews,
  visits: ({ visits }) => visits,
  bounces: ({ bounces }) => bounces,
  visit_us: ({ visitSeconds }) => visitSeconds * second,
  visit_views: ({ visitViews }) => visitViews,
  events: ({ events }) => events,
  engagements: () => 0,
};
const figures = statFigures.join(", ");
const sums = statFigures.map((figure) => `sum(${figure}) AS ${figure}`).join(", ");

/** The import's sums, on its own connection, so memory does not grow with the export. Its files need no order. */
const createTablesSql = `
  CREATE TEMP TABLE imported_stat (
    day date, dimension text COLLATE "C", value text COLLATE "C", ${statFigures.map((figure) => `${figure} bigint`).join(", ")},
    PRIMARY KEY (day, dimension, value));
  CREATE TEMP TABLE imported_event (
    day date, name text COLLATE "C", property text COLLATE "C", value text COLLATE "C", count bigint,
    PRIMARY KEY (day, name, property, value))`;

const dropTablesSql = "DROP TABLE IF EXISTS pg_temp.imported_stat, pg_temp.imported_event";

export async function createSums(client: pg.ClientBase): Promise<void> {
  await client.query(dropTablesSql);
  await client.query(createTablesSql);
}

export async function dropSums(client: pg.ClientBase): Promise<void> {
  await client.query(dropTablesSql);
}

/** Adds rows, several of one value too, by the temporary tables' primary keys. */
const addStatsSql = `
  INSERT INTO imported_stat (day, dimension, value, ${figures})
  SELECT day, dimension, value, ${sums}
  FROM unnest($1::date[], $2::text[], $3::text[], ${statFigures.map((_figure, index) => `$${index + 4}::bigint[]`).join(", ")})
    AS each (day, dimension, value, ${figures})
  GROUP BY day, dimension, value
  ON CONFLICT (day, dimension, value) DO UPDATE
  SET ${statFigures.map((figure) => `${figure} = imported_stat.${figure} + EXCLUDED.${figure}`).join(", ")}`;

const addEventsSql = `
  INSERT INTO imported_event (day, name, property, value, count)
  SELECT day, name, property, value, sum(count)
  FROM unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::int[]) AS each (day, name, property, value, count)
  GROUP BY day, name, property, value
  ON CONFLICT (day, name, property, value) DO UPDATE SET count = imported_event.count + EXCLUDED.count`;

export interface SumRows {
  readonly stats: readonly (DayStat & { day: string })[];
  readonly events: readonly (DayOccurrence & { day: string })[];
}

export async function addToSums(client: pg.ClientBase, { stats, events }: SumRows): Promise<void> {
  if (stats.length > 0) {
    const values = [
      stats.map(({ day }) => day),
      stats.map(({ dimension }) => dimension),
      stats.map(({ value }) => value),
      ...statFigures.map((figure) => stats.map(read[figure])),
    ];
    await client.query(addStatsSql, values);
  }
  if (events.length > 0) {
    const values = [
      events.map(({ day }) => day),
      events.map(({ name }) => name),
      events.map(({ property }) => property),
      events.map(({ value }) => value),
      events.map(({ count }) => count),
    ];
    await client.query(addEventsSql, values);
  }
}

const listDaysSql =
  "SELECT day::text FROM (SELECT day FROM imported_stat UNION SELECT day FROM imported_event) AS days ORDER BY day";

export async function listSumDays(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ day: string }>(listDaysSql);
  return rows.map(({ day }) => day);
}

/** More than a row of `daily_stat` holds of it is kept at the most that it holds; numbers beyond 2^53 are no figures. */
const bounded = (figure: keyof StatChange) =>
  figure === "visit_us" ? `LEAST(sum(${figure}), 9007199254740991)::float8` : `LEAST(sum(${figure}), 2147483647)::int`;

/** A day's sums within the bounds of a list: the greatest values, and the rest as `(other)`. A range of a primary key. */
const readStatsSql = `
  SELECT dimension, CASE WHEN place <= ${maxValuesPerDay} THEN value ELSE '${otherValue}' END AS value,
    ${statFigures.map((figure) => `${bounded(figure)} AS ${figure}`).join(", ")}
  FROM (
    SELECT *, row_number() OVER (PARTITION BY dimension ORDER BY visitors + pageviews DESC, value) AS place
    FROM imported_stat WHERE day = $1
  ) AS placed
  GROUP BY 1, 2`;

export interface SumRow extends StatChange {
  readonly dimension: string;
  readonly value: string;
}

/** A day's greatest occurrences, events before their properties, no more than a day may hold. */
const readEventsSql = `
  SELECT name, property, value, LEAST(count, 2147483647)::int AS count FROM imported_event WHERE day = $1
  ORDER BY property <> '', count DESC, name, property, value LIMIT ${Math.ceil(maxEventBytesPerDay / eventRowBytes)}`;

export async function readSums(
  client: pg.ClientBase,
  day: string,
): Promise<{ stats: SumRow[]; events: DayOccurrence[] }> {
  const stats = await client.query<SumRow>(readStatsSql, [day]);
  const events = await client.query<DayOccurrence>(readEventsSql, [day]);
  return { stats: stats.rows, events: events.rows };
}

/**
 * Marks a day without any figures as one of another tool's; none is marked where it has some. By primary keys. The caller has
 * locked the site.
 */
const markDaySql = `
  INSERT INTO imported_day (site_id, day, source)
  SELECT $1, $2, $3
  WHERE NOT EXISTS (SELECT FROM daily_stat WHERE site_id = $1 AND dimension = 'total' AND day = $2)
    AND NOT EXISTS (SELECT FROM daily_event WHERE site_id = $1 AND day = $2)
  ON CONFLICT (site_id, day) DO NOTHING`;

/** @returns false for a day with figures */
export async function markDay(
  client: pg.ClientBase,
  { siteId, day, source }: { siteId: string; day: string; source: string },
): Promise<boolean> {
  const { rowCount } = await client.query(markDaySql, [siteId, day, source]);
  return rowCount === 1;
}

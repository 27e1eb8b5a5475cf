import {
  listDimensions,
  listsPerView,
  listsPerVisit,
  otherValue,
  viewLists,
  visitColumnOf,
  visitDimensionOf,
} from "../../lists/lists.js";
import { statFigures } from "../recording/roll-up.js";
import { maxWaiting, noId, originColumns, visitGapUs } from "../recording/visit.js";

/** `'total', 'hour', 'page', …`. Rows of other dimensions belong to a newer version, so a rebuild leaves them alone. */
export const knownDimensions = ["total", "hour", ...listDimensions].map((dimension) => `'${dimension}'`).join(", ");

/** `('page', path), ('source', source), …`. */
const pairs = (each: readonly { dimension: string; column: string }[]) =>
  each.map(({ dimension, column }) => `('${dimension}', ${column})`).join(", ");

const ofVisits = listsPerVisit.map((list) => ({ dimension: visitDimensionOf(list), column: visitColumnOf(list) }));
const visitPages = listsPerVisit
  .filter(({ visitPage }) => visitPage)
  .map((list) => `'${visitDimensionOf(list)}'`)
  .join(", ");

const dimensionsPerView = listsPerView.map(({ dimension }) => `'${dimension}'`).join(", ");

/** Gives a value its own row or `(other)`. Where the stored list has `(other)`, values without a stored row stay `(other)`. */
const countedAs = (table: string) => `
    CASE WHEN NOT EXISTS (SELECT FROM listed WHERE listed.dimension = ${table}.dimension AND is_full) THEN value
         WHEN EXISTS (SELECT FROM listed WHERE listed.dimension = ${table}.dimension AND listed.value = ${table}.value) THEN value
         ELSE '${otherValue}' END`;

const listed = `listed AS (
    SELECT dimension, value, bool_or(value = '${otherValue}') OVER (PARTITION BY dimension) AS is_full
    FROM daily_stat WHERE site_id = $1 AND day = $2
  )`;

/** A row per page view of the day and list. Reads the day's events, and `daily_stat` by ranges of its primary key. */
export const createViewsSql = `
  CREATE TEMP TABLE day_view ON COMMIT DROP AS
  WITH view AS (
    SELECT *, to_char(at AT TIME ZONE 'UTC', 'HH24') AS hour FROM day_event WHERE type = 'pageview'
  ), counted AS (
    SELECT view.id, view.at, view.visitor, dimension, each.value
    FROM view CROSS JOIN LATERAL (VALUES
      ('total', ''), ('hour', hour), ${pairs(viewLists)}
    ) AS each (dimension, value)
    WHERE each.value IS NOT NULL
    UNION ALL
    SELECT id, at, visitor, 'entry', path
    FROM (SELECT DISTINCT ON (visitor) id, at, visitor, path FROM view WHERE visitor IS NOT NULL ORDER BY visitor, at, id) AS entry
  ), ${listed}
  SELECT id, at, visitor, dimension, ${countedAs("counted")} AS value
  FROM counted`;

const momentsOf = (types: string) => `
    SELECT *, (extract(epoch FROM at - $2::date::timestamp AT TIME ZONE 'UTC') * 1000000)::bigint AS us
    FROM day_event WHERE visitor IS NOT NULL AND type IN (${types})`;

const holds = (visit: string) => `us >= ${visit}.first_us AND us - ${visit}.last_us < ${visitGapUs}`;

/**
 * The day's visits: an event begins one where the visitor's event before it is not less than 30 minutes old. Engagement extends
 * the one visit that holds it.
 */
const createVisitsSql = `
  CREATE TEMP TABLE day_visit ON COMMIT DROP AS
  WITH moment AS (${momentsOf("'pageview', 'event'")}
  ), gap AS (
    SELECT *, us - lag(us) OVER (PARTITION BY visitor ORDER BY at, id) AS pause FROM moment
  ), numbered AS (
    SELECT *, count(*) FILTER (WHERE pause IS NULL OR pause >= ${visitGapUs}) OVER (PARTITION BY visitor ORDER BY at, id) AS number
    FROM gap
  ), visit AS (
    SELECT visitor, number, min(us) AS first_us, max(us) AS last_us,
      count(*) FILTER (WHERE type = 'pageview')::int AS views, count(*) FILTER (WHERE type = 'event')::int AS events,
      count(*) FILTER (WHERE type = 'event' AND NOT is_interactive)::int AS passive_events,
      (array_agg(id ORDER BY type = 'event', at, id))[1] AS entry_id,
      (array_agg(id ORDER BY at DESC, id DESC) FILTER (WHERE type = 'pageview'))[1] AS exit_id
    FROM numbered GROUP BY visitor, number
  ), named AS (
    SELECT dimension, value, seen_hash(dimension, value) AS hash
    FROM (SELECT DISTINCT dimension, value FROM day_view WHERE dimension IN (${dimensionsPerView})) AS each
  ), viewed AS (
    SELECT numbered.visitor, number, array_agg(DISTINCT hash) AS viewed
    FROM numbered JOIN day_view USING (id) JOIN named USING (dimension, value) GROUP BY numbered.visitor, number
  ), held AS (
    SELECT visitor, number, max(us) AS end_us FROM visit JOIN (${momentsOf("'engagement'")}) AS engaged USING (visitor)
    WHERE ${holds("visit")} GROUP BY visitor, number
  )
  SELECT visit.*, CASE WHEN end_us > last_us THEN end_us END AS end_us, entry.us AS entry_us, leave.us AS exit_us,
    CASE WHEN entry.type = 'pageview' THEN entry.path END AS entry_path, leave.path AS exit_path,
    ${originColumns.map((column) => `entry.${column}`).join(", ")},
    COALESCE(viewed, '{}') AS viewed
  FROM visit JOIN numbered AS entry ON entry.id = entry_id LEFT JOIN numbered AS leave ON leave.id = exit_id
    LEFT JOIN viewed ON (viewed.visitor, viewed.number) = (visit.visitor, visit.number)
    LEFT JOIN held ON (held.visitor, held.number) = (visit.visitor, visit.number)`;

/** Rows for engagement that no visit holds. They count nowhere, so they come after the figures. */
const addWaitingSql = `
  INSERT INTO day_visit (visitor, first_us, last_us, entry_us, entry_id, views, events, passive_events, channel, viewed)
  SELECT visitor, us, us, us, '${noId}', 0, 0, 0, 'Direct', '{}'
  FROM (
    SELECT visitor, us, row_number() OVER (PARTITION BY visitor ORDER BY us) AS place
    FROM (SELECT DISTINCT visitor, us FROM (${momentsOf("'engagement'")}) AS moment) AS engaged
    WHERE NOT EXISTS (SELECT FROM day_visit AS visit WHERE visit.visitor = engaged.visitor AND ${holds("visit")})
  ) AS waiting
  WHERE place <= ${maxWaiting}`;

const [visitors, pageviews, ...visitFigures] = statFigures;

/** The rows that `daily_stat` should have for the day. Reads `daily_stat` by ranges of its primary key. */
const createStatsSql = `
  CREATE TEMP TABLE expected_stat ON COMMIT DROP AS
  WITH ${listed}, began AS (
    SELECT day_visit.*, dimension, ${countedAs("each")} AS value
    FROM day_visit CROSS JOIN LATERAL (VALUES
      ('total', ''), ('hour', lpad((first_us / 3600000000)::text, 2, '0')), ${pairs(ofVisits)}
    ) AS each (dimension, value)
    WHERE each.value IS NOT NULL
  ), counted AS (
    SELECT visitor, first_us, dimension, value FROM began
    UNION ALL
    SELECT visitor, first_us, dimension, value FROM day_visit JOIN LATERAL unnest(viewed) AS hash ON true
    JOIN (
      SELECT DISTINCT dimension, value, seen_hash(dimension, value) AS hash FROM day_view WHERE dimension IN (${dimensionsPerView})
    ) AS named USING (hash)
  ), figure AS (
    SELECT dimension, value, count(DISTINCT visitor)::int AS visitors,
      CASE WHEN dimension = 'entry' THEN 0 ELSE count(*)::int END AS pageviews,
      0 AS visits, 0 AS bounces, 0::bigint AS visit_us, 0 AS visit_views, 0 AS events, 0 AS engagements
    FROM day_view GROUP BY dimension, value
    UNION ALL
    SELECT dimension, value,
      CASE WHEN dimension IN (${visitPages}) THEN count(DISTINCT visitor)::int ELSE 0 END,
      0, count(*)::int, (count(*) FILTER (WHERE views = 1 AND events = passive_events))::int,
      sum(COALESCE(end_us, last_us) - first_us)::bigint, sum(views)::int,
      CASE WHEN dimension IN ('total', 'hour') THEN 0 ELSE sum(events)::int END, 0
    FROM counted JOIN day_visit USING (visitor, first_us) GROUP BY dimension, value
    UNION ALL
    SELECT dimension, value, 0, 0, 0, 0, 0, 0, count(*)::int, 0
    FROM day_event CROSS JOIN LATERAL (VALUES ('total', ''), ('hour', to_char(at AT TIME ZONE 'UTC', 'HH24'))) AS each (dimension, value)
    WHERE type = 'event' GROUP BY dimension, value
    UNION ALL
    SELECT 'total', '', 0, 0, 0, 0, 0, 0, 0, count(*)::int FROM day_event WHERE type = 'engagement' HAVING count(*) > 0
  )
  SELECT dimension, value, sum(${visitors})::int AS ${visitors}, sum(${pageviews})::int AS ${pageviews},
    ${visitFigures.map((figure) => `sum(${figure})::${figure === "visit_us" ? "bigint" : "int"} AS ${figure}`).join(", ")}
  FROM figure GROUP BY dimension, value`;

/** Count a day's rows of `daily_stat` and its visits into temporary tables, in this order. */
export const countStatsSql = [createViewsSql, createVisitsSql, createStatsSql, addWaitingSql];

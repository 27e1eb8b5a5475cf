import type pg from "pg";
import { listsPerVisit, visitColumnOf } from "../../lists/lists.js";
import { visitSql } from "../metrics.js";
import { type Days, eventSpan } from "../range.js";
import { versionSql } from "../statistics.query.js";
import { type EventRow, RowFeed, type VisitRow } from "./collect-part.js";
import { detailColumns, type PartNeeds } from "./day-part.js";

/** A UTC day of a site. */
export interface SiteDay {
  readonly siteId: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
}

/** Days with events and their versions. Reads a range of `daily_stat_pkey`. */
const readVersionsSql = `
  SELECT day::text, ${versionSql} AS version FROM daily_stat
  WHERE site_id = $1 AND dimension = 'total' AND value = '' AND day BETWEEN $2 AND $3 ORDER BY day`;

/** Reads the versions of the days with events, by day in order. */
export async function readVersions(
  client: pg.Pool | pg.ClientBase,
  { siteId, first, last }: { siteId: string } & Days,
): Promise<Map<string, string>> {
  const query = { name: "read-day-versions", text: readVersionsSql, values: [siteId, first, last] };
  const { rows } = await client.query<{ day: string; version: string }>(query);
  return new Map(rows.map(({ day, version }) => [day, version]));
}

/** A day's visits in the order of `visit_pkey`. */
const visitsSql = `
  SELECT visitor::text, first_us, last_us, ${visitSql.us}, ${visitSql.isBounce}, ${listsPerVisit.map(visitColumnOf).join(", ")}
  FROM visit WHERE site_id = $1 AND day = $2 AND ${visitSql.counts} ORDER BY visit.visitor, first_us`;

const dayMs = 86_400_000;

/** A day's events with a visitor, from a range of `event_pkey`. */
const eventsSql = ({ details }: PartNeeds) => `
  SELECT visitor::text, (extract(epoch FROM at - $4::timestamptz) * 1000000)::bigint, name, CASE WHEN type = 'pageview' THEN path END,
    ${Object.values(detailColumns)
      .map((column) => (details ? column : "NULL"))
      .join(", ")}
  FROM event
  WHERE site_id = $1 AND id >= $2 AND id < $3 AND at >= $4 AND at < $5 AND visitor IS NOT NULL
    AND type IN ('pageview', 'event')
  ORDER BY event.visitor, at, id`;

/** Enough to spread the cost of a round trip; rows have up to 16 KiB. */
const batchRows = 1_000;

/** Opens both feeds of a day. @param client in a transaction, whose snapshot they are of */
export async function openDay(client: pg.ClientBase, { siteId, day }: SiteDay, needs: PartNeeds) {
  return {
    visits: await openFeed<VisitRow>(client, "visits", visitsSql, [siteId, day]),
    events: await openFeed<EventRow>(client, "events", eventsSql(needs), [
      siteId,
      ...eventSpan(Date.parse(day), dayMs),
    ]),
  };
}

async function openFeed<Row extends unknown[]>(client: pg.ClientBase, name: string, sql: string, values: unknown[]) {
  await client.query(`DECLARE day_${name} NO SCROLL CURSOR FOR ${sql}`, values);
  const fetch = async () => {
    const text = `FETCH ${batchRows} FROM day_${name}`;
    const { rows } = await client.query<Row>({ text, rowMode: "array" });
    return rows;
  };
  return new RowFeed<Row>(fetch, batchRows);
}

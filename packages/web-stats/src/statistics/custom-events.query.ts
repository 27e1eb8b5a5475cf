import { Buffer } from "node:buffer";
import type pg from "pg";
import { z } from "zod";
import { otherValue } from "../lists/lists.js";
import type { DayPart } from "./columns/day-part.js";
import { type Match, matchVisits } from "./filters/filter.js";
import { heldBytes } from "./filters/read-filtered.js";
import type { Days } from "./range.js";
import type { Filtering } from "./read-statistics.js";
import { type Coverage, readEventDays } from "./statistics.query.js";
import { firstOf, type Work } from "./work.js";

export const customEvent = z.object({
  name: z.string(),
  count: z.number(),
  properties: z.record(z.string(), z.record(z.string(), z.number())),
});

export type CustomEvent = z.infer<typeof customEvent>;

/** Occurrences of an event (property and value are empty) or of one value of a property. */
interface EventRow {
  name: string;
  property: string;
  value: string;
  count: number;
}

/** The bounds of an answer; `(other)` counts the rest. The bytes are bytes of JSON, and keep all of it under 1 MiB. */
export const eventBounds = {
  names: 1_000,
  valuesPerProperty: 1_000,
  nameBytes: 262_144,
  propertyBytes: 262_144,
  valueBytes: 520_192,
} as const;

/**
 * The range's custom events, the most frequent first. An event's total comes before its properties, which are in order of
 * their names; values are in order of frequency. Sums are exact: `(other)` counts what the bounds leave out. Each event gets
 * its first property, and each property its first value, before any gets a second. Reads one range of `daily_event_pkey` once.
 */
const readEventsSql = `
  WITH counted AS MATERIALIZED (
    -- Long values are grouped by their start and MD5: sorting hundreds of megabytes would take the statement's time.
    SELECT name, property, key, sum(count)::bigint AS count, min(row_id) AS row_id, max(bytes) AS bytes
    FROM (
      SELECT ctid AS row_id, name, property, count, octet_length(to_json(value)::text) AS bytes,
        CASE WHEN octet_length(value) <= 64 THEN value ELSE left(value, 64) || md5(value) END AS key
      FROM daily_event WHERE site_id = $1 AND day BETWEEN $2 AND $3
    ) AS stored
    GROUP BY name, property, key
  ), names AS MATERIALIZED (
    SELECT name, total, name <> '${otherValue}' AND row_number() OVER rank <= $4
      AND sum(octet_length(to_json(name)::text) + 90) OVER rank <= $5 AS has_name
    FROM (SELECT name, max(count) FILTER (WHERE property = '') AS total FROM counted GROUP BY name) AS event
    WINDOW rank AS (ORDER BY name = '${otherValue}', total DESC, name ROWS UNBOUNDED PRECEDING)
  ), properties AS MATERIALIZED (
    -- FULL JOIN, here and below: every row has a partner, and the planner never makes a nested loop of it, which its guesses
    -- about groups would make of an inner join. coalesce() keeps it from turning this one into an inner join.
    SELECT name, property, total, occurrences, property <> '${otherValue}'
      AND sum(octet_length(to_json(property)::text) + 32) OVER (ORDER BY rank, total DESC, name ROWS UNBOUNDED PRECEDING) <= $6
      AS has_property
    FROM (
      SELECT name, property, total, occurrences, row_number() OVER (
        PARTITION BY name ORDER BY property = '${otherValue}', occurrences DESC, property
      ) AS rank
      FROM (SELECT name, property, sum(count)::bigint AS occurrences FROM counted GROUP BY name, property) AS owned
        FULL JOIN names USING (name)
      WHERE coalesce(has_name, false) AND coalesce(property, '') <> ''
    ) AS ordered
  ), shown AS MATERIALIZED (
    -- A long value is fetched by the ctid of one of its rows, which does not change within a statement.
    SELECT name, property, total, rank, count, (SELECT value FROM daily_event WHERE ctid = row_id) AS value
    FROM (
      SELECT *, sum(bytes + 18) OVER (ORDER BY rank, total DESC, name, property ROWS UNBOUNDED PRECEDING) AS bytes_so_far
      FROM (
        SELECT name, property, total, count, row_id, bytes, row_number() OVER (
          PARTITION BY name, property ORDER BY count DESC, key
        ) AS rank
        FROM counted FULL JOIN properties USING (name, property) WHERE coalesce(has_property, false) AND coalesce(key, '${otherValue}') <> '${otherValue}'
      ) AS ranked
      WHERE rank <= $7
    ) AS near
    WHERE bytes_so_far <= $8
  )
  SELECT name, property, value, count
  FROM (
    SELECT CASE WHEN has_name THEN name ELSE '${otherValue}' END AS name, CASE WHEN has_name THEN total END AS total,
      '' AS property, '' AS value, 0 AS rank, sum(total)::bigint AS count
    FROM names GROUP BY 1, 2
    UNION ALL
    SELECT name, total, property, value, rank, count FROM shown
    UNION ALL
    SELECT name, total, CASE WHEN has_property THEN property ELSE '${otherValue}' END, '${otherValue}', $7::int + 1,
      (sum(occurrences) - sum(coalesce(count, 0)))::bigint
    FROM properties
      FULL JOIN (SELECT name, property, sum(count) AS count FROM shown GROUP BY name, property) AS kept USING (name, property)
    GROUP BY 1, 2, 3
  ) AS answer
  WHERE count > 0
  ORDER BY name = '${otherValue}', total DESC, name, property = '${otherValue}', property, rank`;

/** Reads a site's custom events, those of the visits that match under filters, and which days have events where not all do. */
export async function readEvents(
  pool: pg.Pool,
  { siteId, days, filtering }: { siteId: string; days: Days; filtering: Filtering | undefined },
): Promise<{ events: CustomEvent[]; coverage?: Coverage }> {
  if (!filtering) return { events: await readCustomEvents(pool, { siteId, ...days }) };
  const events = await readFilteredEvents(filtering, { siteId, days });
  const coverage = await readEventDays(pool, { siteId, ...days });
  return { events, ...(coverage && { coverage }) };
}

export async function readCustomEvents(pool: pg.Pool, query: { siteId: string } & Days): Promise<CustomEvent[]> {
  const { siteId, first, last } = query;
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const values = [siteId, first, last, names, nameBytes, propertyBytes, valuesPerProperty, valueBytes];
  const { rows } = await pool.query<EventRow>({ name: "read-events", text: readEventsSql, values });
  return toEvents(rows);
}

function toEvents(rows: readonly EventRow[]): CustomEvent[] {
  const events: { name: string; count: number; properties: Map<string, [string, number][]> }[] = [];
  for (const { name, property, value, count } of rows) {
    if (property === "") {
      events.push({ name, count, properties: new Map() });
      continue;
    }
    const properties = events.at(-1)?.properties;
    const counts = properties?.get(property);
    if (counts) counts.push([value, count]);
    else properties?.set(property, [[value, count]]);
  }
  // From entries, since an assignment per name would lose a property called `__proto__`.
  return events.map(({ name, count, properties }) => ({
    name,
    count,
    properties: Object.fromEntries([...properties].map(([property, counts]) => [property, Object.fromEntries(counts)])),
  }));
}

/** Of names, properties and values held while counting; occurrences of further ones count as `(other)`. */
const maxHeldBytes = 16_777_216;

interface Counter {
  count: number;
  readonly properties: Map<string, Map<string, number>>;
}

/** Reads the custom events of the visits that match, under filters of events those that match, within the bounds of an answer. */
async function readFilteredEvents(
  { columns, filters }: Filtering,
  { siteId, days }: { siteId: string; days: Days },
): Promise<CustomEvent[]> {
  const counters = new Map<string, Counter>();
  let held = 0;
  const hold = <Value>(map: Map<string, Value>, key: string, make: () => Value): Value => {
    const there = map.get(key);
    if (there !== undefined) return there;
    const kept = held < maxHeldBytes ? key : otherValue;
    const value = map.get(kept) ?? make();
    if (!map.has(kept)) held += heldBytes(kept);
    map.set(kept, value);
    return value;
  };
  const raise = (values: Map<string, number>, value: string, count: number) => {
    const kept = values.has(value) || held < maxHeldBytes ? value : otherValue;
    if (!values.has(kept)) held += heldBytes(kept);
    values.set(kept, (values.get(kept) ?? 0) + count);
  };
  const { work } = columns;
  await columns.read({ siteId, days, needs: { details: true } }, async ({ part }) => {
    const pairs = await countPairs(part, await matchVisits(part, filters, work), work);
    for (const [pair, count] of pairs) {
      const { name, props, text } = readPair(part, pair);
      if (work.look(5 * text.length + 100)) await work.rest();
      const counter = hold(counters, name, () => ({ count: 0, properties: new Map() }) as Counter);
      counter.count += count;
      for (const [property, value] of Object.entries(props)) {
        raise(
          hold(counter.properties, property, () => new Map<string, number>()),
          rolledValue(value),
          count,
        );
      }
    }
  });
  return toAnswer(counters, work);
}

async function countPairs({ visits, events }: DayPart, match: Match, work: Work): Promise<Map<number, number>> {
  const props = events.details?.props;
  if (!props) throw new Error("The part was read without its details");
  const counts = new Map<number, number>();
  for (let visit = 0; visit < visits.count; visit++) {
    if (match.visits[visit] === 0) continue;
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    if (work.spend(5 * (end - first))) await work.rest();
    for (let event = first; event < end; event++) {
      const name = events.names.ids[event] ?? 0;
      if (name === 0 || match.events?.[event] === 0) continue;
      const pair = name * props.values.length + (props.ids[event] ?? 0);
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  return counts;
}

function readPair({ events: { names, details } }: DayPart, pair: number) {
  const values = details?.props.values ?? [];
  const text = values[pair % values.length] ?? "";
  const props = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { name: names.values[Math.floor(pair / values.length)] ?? "", props, text };
}

/** Bytes by which a value counts; a longer one counts by its start with an ellipsis, as in the rollups. */
const maxRolledBytes = 200;

function rolledValue(value: unknown): string {
  const text = String(value);
  const bytes = Buffer.from(text);
  if (bytes.length <= maxRolledBytes) return text;
  const cut = bytes.subarray(0, maxRolledBytes - Buffer.byteLength("…"));
  // A character that the cut broke ends as replacement characters.
  return `${cut.toString().replace(/\uFFFD+$/, "")}…`;
}

const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text));

type Count = readonly [name: string, count: number];

const byCount = ([a, one]: Count, [b, other]: Count) => other - one || (a < b ? -1 : 1);

/** The first rows that fit the bounds, and the sum of the others. */
async function cut(
  counts: Iterable<Count>,
  { rows, bytes, rowBytes, work }: { rows: number; bytes: number; rowBytes: number; work: Work },
) {
  let [left, all, used] = [bytes, 0, 0];
  const sizeOf = (name: string) => jsonBytes(name) + rowBytes;
  for (const [name, count] of counts) {
    all += count;
    used += sizeOf(name);
    if (work.spend(50)) await work.rest();
  }
  const shown: Count[] = [];
  let sum = 0;
  for (const row of await firstOf(counts, { compare: byCount, limit: rows + 1, work })) {
    left -= sizeOf(row[0]);
    if (row[0] === otherValue || shown.length >= rows || left < 0) continue;
    shown.push(row);
    sum += row[1];
  }
  return { shown, rest: all - sum, bytes: bytes - used };
}

async function toAnswer(counters: ReadonlyMap<string, Counter>, work: Work): Promise<CustomEvent[]> {
  const { names, valuesPerProperty, nameBytes, propertyBytes, valueBytes } = eventBounds;
  const counts = Array.from(counters, ([name, { count }]) => [name, count] as const);
  const { shown, rest } = await cut(counts, { rows: names, bytes: nameBytes, rowBytes: 90, work });
  const left: Record<"properties" | "values", number> = { properties: propertyBytes, values: valueBytes };
  const events: CustomEvent[] = [];
  for (const [name, count] of shown) {
    const properties: [string, Record<string, number>][] = [];
    const own = counters.get(name)?.properties ?? new Map<string, Map<string, number>>();
    const limit = Math.floor(propertyBytes / minPropertyBytes);
    for (const [property, values] of await firstOf(own, { compare: ([a], [b]) => (a < b ? -1 : 1), limit, work })) {
      left.properties -= jsonBytes(property) + minPropertyBytes;
      if (property === otherValue || left.properties < 0) continue;
      const bounds = { rows: valuesPerProperty, bytes: Math.max(0, left.values), rowBytes: 18, work };
      const kept = await cut(values, bounds);
      left.values = kept.bytes;
      const rows: Count[] = kept.rest > 0 ? [...kept.shown, [otherValue, kept.rest]] : kept.shown;
      properties.push([property, Object.fromEntries(rows)]);
    }
    events.push({ name, count, properties: Object.fromEntries(properties) });
  }
  return rest > 0 ? [...events, { name: otherValue, count: rest, properties: {} }] : events;
}

const minPropertyBytes = 32;

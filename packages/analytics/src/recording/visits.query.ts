import type pg from "pg";
import { keyOf } from "./record-events.query.js";
import { toArray } from "./sql-array.js";
import { originColumns, type Visit } from "./visit.js";

/** Columns of `visit` after its key, in the order of the statements. */
const columns = [
  ["last_us", "bigint"],
  ["entry_us", "bigint"],
  ["entry_id", "uuid"],
  ["exit_us", "bigint"],
  ["exit_id", "uuid"],
  ["views", "int"],
  ["events", "int"],
  ["passive_events", "int"],
  ["end_us", "bigint"],
  ["entry_path", "text"],
  ["exit_path", "text"],
  ["viewed", "bigint[]"],
  ...originColumns.map((column) => [column, "text"] as const),
] as const;

const names = columns.map(([name]) => name).join(", ");

/** The visits of visitors of days, by ranges of `visit_pkey`: `OFFSET` keeps the planner from reading a small table whole. */
const readVisitsSql = `
  SELECT visit.site_id, visit.day::text, visit.visitor::text, first_us, ${names.replace("viewed", "viewed::text")}
  FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS each (site_id, day, visitor)
  CROSS JOIN LATERAL (
    SELECT * FROM visit WHERE (site_id, day, visitor) = (each.site_id, each.day, each.visitor) OFFSET 0
  ) AS visit`;

type VisitRow = [siteId: string, day: string, visitor: string, firstUs: number | string, ...(string | number | null)[]];

/** Reads visits by day (`keyOf`) and visitor. */
export async function readVisits(
  client: pg.ClientBase,
  wanted: { siteIds: string[]; days: string[]; visitors: string[] },
): Promise<Map<string, Map<string, Visit[]>>> {
  const { rows } = await client.query<VisitRow>({
    name: "read-visits",
    text: readVisitsSql,
    values: [wanted.siteIds, wanted.days, wanted.visitors].map(toArray),
    rowMode: "array",
  });
  const byDay = new Map<string, Map<string, Visit[]>>();
  for (const row of rows) {
    const [siteId, day, visitor] = row;
    const key = keyOf({ siteId, day });
    let visitors = byDay.get(key);
    if (!visitors) {
      visitors = new Map();
      byDay.set(key, visitors);
    }
    const visits = visitors.get(visitor);
    if (visits) visits.push(toVisit(row));
    else visitors.set(visitor, [toVisit(row)]);
  }
  return byDay;
}

function toVisit([, , , firstUs, ...values]: VisitRow): Visit {
  const [
    lastUs,
    entryUs,
    entryId,
    exitUs,
    exitId,
    views,
    events,
    passive,
    endUs,
    entryPath,
    exitPath,
    viewed,
    ...origin
  ] = values;
  return {
    firstUs: Number(firstUs),
    lastUs: Number(lastUs),
    endUs: Number(endUs ?? lastUs),
    entryUs: Number(entryUs),
    entryId: String(entryId),
    entryPath: textOf(entryPath),
    exitUs: exitUs === null ? null : Number(exitUs),
    exitId: textOf(exitId),
    exitPath: textOf(exitPath),
    views: Number(views),
    events: Number(events),
    passive: Number(passive),
    origin: Object.fromEntries(originColumns.map((column, index) => [column, textOf(origin[index])])),
    viewed: viewed === "{}" ? [] : String(viewed).slice(1, -1).split(","),
  };
}

function textOf(value: string | number | null | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** Removes visits that have another beginning now, by `visit_pkey`. */
const removeVisitsSql = `
  DELETE FROM visit USING unnest($1::uuid[], $2::date[], $3::bigint[], $4::bigint[]) AS gone (site_id, day, visitor, first_us)
  WHERE (visit.site_id, visit.day, visit.visitor, visit.first_us) = (gone.site_id, gone.day, gone.visitor, gone.first_us)`;

const parameters = columns.map(([, type], index) => `$${index + 5}::${type === "bigint[]" ? "text" : type}[]`);

/** Stores visits by `visit_pkey`. Lists come as texts of arrays: `unnest` would flatten them. */
const writeVisitsSql = `
  INSERT INTO visit (site_id, day, visitor, first_us, ${names})
  SELECT site_id, day, visitor, first_us, ${names.replace("viewed", "viewed::bigint[]")}
  FROM unnest($1::uuid[], $2::date[], $3::bigint[], $4::bigint[], ${parameters.join(", ")})
    AS each (site_id, day, visitor, first_us, ${names})
  ON CONFLICT (site_id, day, visitor, first_us) DO UPDATE
  SET ${columns.map(([name]) => `${name} = EXCLUDED.${name}`).join(", ")}`;

/** A column's value of a visit. */
const readers: readonly ((visit: Visit) => string | number | null)[] = [
  ({ lastUs }) => lastUs,
  ({ entryUs }) => entryUs,
  ({ entryId }) => entryId,
  ({ exitUs }) => exitUs,
  ({ exitId }) => exitId,
  ({ views }) => views,
  ({ events }) => events,
  ({ passive }) => passive,
  ({ endUs, lastUs }) => (endUs > lastUs ? endUs : null),
  ({ entryPath }) => entryPath,
  ({ exitPath }) => exitPath,
  ({ viewed }) => `{${viewed.join(",")}}`,
  ...originColumns.map(
    (column) =>
      ({ origin }: Visit) =>
        origin[column] ?? null,
  ),
];

/** Rows of several days and visitors: the keys beside the visits, in one order. */
export interface VisitRows {
  readonly siteIds: string[];
  readonly days: string[];
  readonly visitors: string[];
  readonly firstUs: number[];
}

export async function removeVisits(client: pg.ClientBase, rows: VisitRows): Promise<void> {
  if (rows.firstUs.length === 0) return;
  await client.query({ name: "remove-visits", text: removeVisitsSql, values: keysOf(rows) });
}

export async function storeVisits(client: pg.ClientBase, rows: VisitRows, visits: readonly Visit[]): Promise<void> {
  if (visits.length === 0) return;
  const values = [...keysOf(rows), ...readers.map((read) => toArray(visits.map(read)))];
  await client.query({ name: "store-visits", text: writeVisitsSql, values });
}

function keysOf({ siteIds, days, visitors, firstUs }: VisitRows): string[] {
  return [siteIds, days, visitors, firstUs].map(toArray);
}

import type pg from "pg";
import { type CopiedColumn, type CopiedType, copyRows } from "./copy-rows.js";
import { keyOf, type SiteDay, toArray } from "./record-events.query.js";
import { originColumns, type Visit } from "./visit.js";

type Column<Row> = readonly [name: string, type: CopiedType, read: (row: Row) => string | number | null];

/** Those after the key, in the order of the statements. */
const columns: readonly Column<Visit>[] = [
  ["last_us", "bigint", ({ lastUs }) => lastUs],
  ["entry_us", "bigint", ({ entryUs }) => entryUs],
  ["entry_id", "uuid", ({ entryId }) => entryId],
  ["exit_us", "bigint", ({ exitUs }) => exitUs],
  ["exit_id", "uuid", ({ exitId }) => exitId],
  ["views", "int", ({ views }) => views],
  ["events", "int", ({ events }) => events],
  ["passive_events", "int", ({ passive }) => passive],
  ["end_us", "bigint", ({ endUs, lastUs }) => (endUs > lastUs ? endUs : null)],
  ["entry_path", "text", ({ entryPath }) => entryPath],
  ["exit_path", "text", ({ exitPath }) => exitPath],
  ["viewed", "bigint[]", ({ viewed }) => `{${viewed.join(",")}}`],
  ...originColumns.map((column): Column<Visit> => [column, "text", ({ origin }) => origin[column] ?? null]),
];

export const visitColumns = columns.map(([name]) => name);
const names = visitColumns.join(", ");

export interface VisitKey extends SiteDay {
  readonly visitor: string;
  readonly firstUs: number;
}

export interface KeyedVisit extends VisitKey {
  readonly visit: Visit;
}

const keyColumns: readonly Column<VisitKey>[] = [
  ["site_id", "uuid", ({ siteId }) => siteId],
  ["day", "date", ({ day }) => day],
  ["visitor", "bigint", ({ visitor }) => visitor],
  ["first_us", "bigint", ({ firstUs }) => firstUs],
];

/** The visits of visitors of days, by ranges of `visit_pkey`: `OFFSET` keeps the planner from reading a small table whole. */
const readVisitsSql = `
  SELECT visit.site_id, visit.day::text, visit.visitor::text, first_us, ${names.replace("viewed", "viewed::text")}
  FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS each (site_id, day, visitor)
  CROSS JOIN LATERAL (
    SELECT * FROM visit WHERE (site_id, day, visitor) = (each.site_id, each.day, each.visitor) OFFSET 0
  ) AS visit`;

type VisitRow = [siteId: string, day: string, visitor: string, firstUs: number | string, ...(string | number | null)[]];

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

interface Statement {
  readonly name: string;
  readonly text: string;
  readonly columns: readonly Column<Visit>[];
}

/** Rows from arrays, beginning with the key. Lists come as texts of arrays: `unnest` would flatten them. */
function givenRows(those: readonly Column<Visit>[]): string {
  const parameters = those.map(([, type], index) => `$${index + 5}::${type === "bigint[]" ? "text" : type}[]`);
  return `unnest($1::uuid[], $2::date[], $3::bigint[], $4::bigint[], ${parameters.join(", ")})
    AS given (site_id, day, visitor, first_us, ${those.map(([name]) => name).join(", ")})`;
}

/** The site's lock and the rows read before tell new visits, so no conflict is possible. */
const addVisits: Statement = {
  name: "add-visits",
  text: `
  INSERT INTO visit (site_id, day, visitor, first_us, ${names})
  SELECT site_id, day, visitor, first_us, ${names.replace("viewed", "viewed::bigint[]")} FROM ${givenRows(columns)}`,
  columns,
};

const beginning = new Set<string>(["entry_us", "entry_id", "entry_path", ...originColumns]);
const growing = columns.filter(([name]) => !beginning.has(name));

/** Writes what changes after a visit's beginning, by `visit_pkey`. Under the site's lock no row moves after the look-up of its `ctid`. */
const growVisits: Statement = {
  name: "grow-visits",
  text: `
  UPDATE visit SET ${growing.map(([name, type]) => `${name} = given.${name}${type === "bigint[]" ? "::bigint[]" : ""}`).join(", ")}
  FROM ${givenRows(growing)}
  CROSS JOIN LATERAL (
    SELECT ctid AS row_id FROM visit AS known
    WHERE (known.site_id, known.day, known.visitor, known.first_us) = (given.site_id, given.day, given.visitor, given.first_us) OFFSET 0
  ) AS found
  WHERE visit.ctid = found.row_id`,
  columns: growing,
};

export function removeVisits(client: pg.ClientBase, keys: readonly VisitKey[]): Promise<unknown> {
  if (keys.length === 0) return nothing;
  return client.query({ name: "remove-visits", text: removeVisitsSql, values: keysOf(keys) });
}

export function insertVisits(client: pg.ClientBase, rows: readonly KeyedVisit[]): Promise<unknown> {
  return write(client, addVisits, rows);
}

/** As `insertVisits`, by COPY. */
export async function copyVisits(client: pg.ClientBase, rows: readonly KeyedVisit[]): Promise<void> {
  const copied: readonly CopiedColumn<KeyedVisit>[] = [
    ...keyColumns.map(([name, type, read]) => ({ name, type, read })),
    ...columns.map(([name, type, read]) => ({ name, type, read: ({ visit }: KeyedVisit) => read(visit) })),
  ];
  if (rows.length > 0) await copyRows(client, { table: "visit", columns: copied }, rows);
}

export function updateVisits(client: pg.ClientBase, rows: readonly KeyedVisit[]): Promise<unknown> {
  return write(client, growVisits, rows);
}

const nothing = Promise.resolve();

function write(
  client: pg.ClientBase,
  { name, text, columns }: Statement,
  rows: readonly KeyedVisit[],
): Promise<unknown> {
  if (rows.length === 0) return nothing;
  const values = columns.map(([, , read]) => toArray(rows.map(({ visit }) => read(visit))));
  return client.query({ name, text, values: [...keysOf(rows), ...values] });
}

function keysOf(keys: readonly VisitKey[]): string[] {
  return keyColumns.map(([, , read]) => toArray(keys.map(read)));
}

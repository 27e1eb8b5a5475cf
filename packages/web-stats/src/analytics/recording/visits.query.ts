import type pg from "pg";
import type { ListColumn } from "../../lists/lists.js";
import { type CopiedColumn, copyRows } from "./copy-rows.js";
import { keyOf, toArray } from "./record-events.query.js";
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

/** A column's value of a visit. */
const readers: Readonly<Record<string, (visit: Visit) => string | number | null>> = {
  last_us: ({ lastUs }) => lastUs,
  entry_us: ({ entryUs }) => entryUs,
  entry_id: ({ entryId }) => entryId,
  exit_us: ({ exitUs }) => exitUs,
  exit_id: ({ exitId }) => exitId,
  views: ({ views }) => views,
  events: ({ events }) => events,
  passive_events: ({ passive }) => passive,
  end_us: ({ endUs, lastUs }) => (endUs > lastUs ? endUs : null),
  entry_path: ({ entryPath }) => entryPath,
  exit_path: ({ exitPath }) => exitPath,
  viewed: ({ viewed }) => `{${viewed.join(",")}}`,
};

interface Statement {
  readonly name: string;
  readonly text: string;
  readonly columns: readonly string[];
}

/** Rows from arrays, beginning with the key. Lists come as texts of arrays: `unnest` would flatten them. */
function givenRows(those: typeof columns | readonly (typeof columns)[number][]): string {
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
  columns: columns.map(([name]) => name),
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
  columns: growing.map(([name]) => name),
};

/** Rows of several days and visitors: the keys beside the visits, in one order. */
export interface VisitRows {
  readonly siteIds: string[];
  readonly days: string[];
  readonly visitors: string[];
  readonly firstUs: number[];
}

export function removeVisits(client: pg.ClientBase, rows: VisitRows): Promise<unknown> {
  if (rows.firstUs.length === 0) return nothing;
  return client.query({ name: "remove-visits", text: removeVisitsSql, values: keysOf(rows) });
}

/** Adds new visits. */
export function insertVisits(client: pg.ClientBase, rows: VisitRows, visits: readonly Visit[]): Promise<unknown> {
  return write(client, addVisits, rows, visits);
}

/** As `insertVisits`, by COPY. */
export async function copyVisits(client: pg.ClientBase, rows: VisitRows, visits: readonly Visit[]): Promise<void> {
  const keys: readonly CopiedColumn<number>[] = [
    { name: "site_id", type: "uuid", read: (at) => rows.siteIds[at] ?? null },
    { name: "day", type: "date", read: (at) => rows.days[at] ?? null },
    { name: "visitor", type: "bigint", read: (at) => rows.visitors[at] ?? null },
    { name: "first_us", type: "bigint", read: (at) => rows.firstUs[at] ?? null },
  ];
  const values = columns.map(([name, type]): CopiedColumn<number> => {
    const read = readerOf(name);
    return { name, type, read: (at) => read(visits[at] as Visit) };
  });
  if (visits.length > 0) await copyRows(client, { table: "visit", columns: [...keys, ...values] }, visits.keys());
}

/** Updates visits with the beginning and the entry of their row. */
export function updateVisits(client: pg.ClientBase, rows: VisitRows, visits: readonly Visit[]): Promise<unknown> {
  return write(client, growVisits, rows, visits);
}

const nothing = Promise.resolve();

function write(
  client: pg.ClientBase,
  { name, text, columns }: Statement,
  rows: VisitRows,
  visits: readonly Visit[],
): Promise<unknown> {
  if (visits.length === 0) return nothing;
  const values = [...keysOf(rows), ...columns.map((column) => toArray(visits.map(readerOf(column))))];
  return client.query({ name, text, values });
}

function readerOf(column: string): (visit: Visit) => string | number | null {
  return readers[column] ?? (({ origin }) => origin[column as ListColumn] ?? null);
}

function keysOf({ siteIds, days, visitors, firstUs }: VisitRows): string[] {
  return [siteIds, days, visitors, firstUs].map(toArray);
}

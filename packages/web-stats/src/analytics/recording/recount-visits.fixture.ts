import type pg from "pg";
import { visitLists } from "../../lists/lists.js";

/** `day dimension value` -> visitors, page views, visits, bounces, microseconds, the visits' page views, custom events, engagement. */
export type VisitFigures = Record<string, number[]>;

/** Dimensions whose visitors and page views count only in the figures of visits. */
const countedHere = new Set(["visit_entry", "exit", "hour"]);

/** The figures of visits in `daily_stat`, without rows of zeros. */
export async function readVisitFigures(pool: pg.Pool, siteId: string): Promise<VisitFigures> {
  const { rows } = await pool.query(
    `SELECT day::text AS day, dimension, value, visitors, pageviews, visits, bounces, visit_us, visit_views, events, engagements
     FROM daily_stat WHERE site_id = $1`,
    [siteId],
  );
  const figures = rows.map(({ day, dimension, value, visitors, pageviews, ...visits }): [string, number[]] => [
    `${day} ${dimension} ${value}`,
    [...(countedHere.has(dimension) ? [visitors, pageviews] : [0, 0]), ...Object.values(visits).map(Number)],
  ]);
  return Object.fromEntries(figures.filter(([, each]) => each.some((figure) => figure !== 0)));
}

interface Row {
  day: string;
  us: number;
  type: string;
  visitor: string | null;
  path: string;
  is_interactive: boolean;
  host: string | null;
  [column: string]: string | number | boolean | null;
}

/** The same, counted one by one over a site's events: each visit asks anew for everything. */
export async function recountVisitFigures(pool: pg.Pool, siteId: string): Promise<VisitFigures> {
  const { rows } = await pool.query<Row>(
    `SELECT *, visitor::text, (at AT TIME ZONE 'UTC')::date::text AS day,
       (extract(epoch FROM (at AT TIME ZONE 'UTC')::time) * 1000000)::float AS us
     FROM event WHERE site_id = $1 ORDER BY at, id`,
    [siteId],
  );
  const figures: VisitFigures = {};
  const add = (day: string, dimension: string, value: unknown, each: readonly number[]) => {
    const key = `${day} ${dimension} ${value}`;
    const before = figures[key] ?? [0, 0, 0, 0, 0, 0, 0, 0];
    figures[key] = before.map((figure, index) => figure + (each[index] ?? 0));
  };
  const visitors = new Map<string, Set<string>>();
  const seen = (day: string, dimension: string, value: unknown, visitor: string) => {
    const key = `${day} ${dimension} ${value}`;
    visitors.set(key, (visitors.get(key) ?? new Set()).add(visitor));
  };
  for (const { day, us, type, visitor } of rows) {
    if (type === "engagement") {
      add(day, "total", "", [0, 0, 0, 0, 0, 0, 0, 1]);
      continue;
    }
    const hour = new Date(us / 1_000).toISOString().slice(11, 13);
    const isView = type === "pageview";
    if (!isView) add(day, "total", "", [0, 0, 0, 0, 0, 0, 1]);
    add(day, "hour", hour, isView ? [0, 1, 0, 0, 0, 0, 0] : [0, 0, 0, 0, 0, 0, 1]);
    if (isView && visitor !== null) seen(day, "hour", hour, visitor);
  }
  const engagement = rows.filter(({ type }) => type === "engagement");
  for (const visit of visitsOf(rows.filter(({ type }) => type !== "engagement"))) {
    const [first, last] = [visit[0], visit.at(-1)];
    if (!first || !last) continue;
    const views = visit.filter(({ type }) => type === "pageview");
    const events = visit.length - views.length;
    const isBounce = views.length === 1 && visit.every((row) => row.type === "pageview" || !row.is_interactive) ? 1 : 0;
    const isHeld = ({ day, visitor, us }: Row) =>
      day === first.day && visitor === first.visitor && us >= first.us && us < last.us + 1_800_000_000;
    const end = Math.max(last.us, ...engagement.filter(isHeld).map(({ us }) => us));
    const counted = [0, 0, 1, isBounce, end - first.us, views.length];
    add(first.day, "total", "", counted);
    add(first.day, "hour", new Date(first.us / 1_000).toISOString().slice(11, 13), counted);
    const origin = views[0] ?? first;
    const values: [string, unknown][] = visitLists.map(({ dimension, column }) => [dimension, origin[column]]);
    for (const path of new Set(views.map((view) => view.path))) values.push(["page", path]);
    for (const host of new Set(views.map((view) => view.host))) values.push(["host", host]);
    for (const [dimension, view] of [
      ["visit_entry", views[0]],
      ["exit", views.at(-1)],
    ] as const) {
      if (!view) continue;
      values.push([dimension, view.path]);
      seen(first.day, dimension, view.path, first.visitor ?? "");
    }
    for (const [dimension, value] of values) if (value !== null) add(first.day, dimension, value, [...counted, events]);
  }
  for (const [key, each] of visitors) figures[key] = [each.size, ...(figures[key] ?? []).slice(1)];
  return figures;
}

/** The visits in any order: lists of events in order. */
function visitsOf(rows: readonly Row[]): Row[][] {
  const visits: Row[][] = [];
  for (const day of new Set(rows.map((row) => row.day))) {
    const ofDay = rows.filter((row) => row.day === day && row.visitor !== null);
    for (const visitor of new Set(ofDay.map((row) => row.visitor))) {
      let visit: Row[] = [];
      for (const row of ofDay.filter((each) => each.visitor === visitor)) {
        const before = visit.at(-1);
        if (before && row.us - before.us < 1_800_000_000) visit.push(row);
        else {
          visit = [row];
          visits.push(visit);
        }
      }
    }
  }
  return visits;
}

import { Buffer } from "node:buffer";
import { asParameter, wordsParameter } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import { type Machines, machinesOf } from "../../analytics/attribution/machine-store.query.js";
import { unnamedMachine } from "../../analytics/attribution/machines.js";
import type { Channel } from "../../analytics/attribution/source-classifier.js";
import { otherValue } from "../../lists/lists.js";
import type { ColumnReader } from "../columns/day-columns.js";
import type { DayPart } from "../columns/day-part.js";
import { type Filter, matchVisits, parseFilters } from "../filters/filter.js";
import { addRevenue, matchGoals, readRevenue, toRevenue } from "../goals/count-goals.js";
import { type Goal, listGoals } from "../goals/goals.query.js";
import { writeTable } from "../list-rows.js";
import { type Days, filtersParameter, listDays, previousDays } from "../range.js";
import { pointsOf } from "../read-statistics.js";
import { maxListBytes, rowBytes } from "../statistics.query.js";
import { tooLong, type Work } from "../work.js";
import {
  maxReaders,
  purposesOf,
  type Requests,
  readGaps,
  readMachineDays,
  readMachineFigures,
  readVisitorsOf,
} from "./machine-figures.query.js";
import type { MachineMemory } from "./machine-memory.js";

const count = z.number();
const revenue = z.array(z.object({ currency: z.string(), amount: z.string().describe("A decimal, exact") }));

const machineFigures = z.object({
  name: z.string().describe(`\`${unnamedMachine}\` for bots outside the list`),
  operator: z.string(),
  purpose: z.string(),
  requests: count,
  pages: count.describe("Different paths"),
  verified: count,
  unknown: count,
  false: count,
  errors: count.describe("Answers with status 400 to 599"),
  missing: count.describe("Of them 404 and 410"),
  blocked: count.describe("Of them 401, 403 and 429"),
  failed: count.describe("Of them 500 to 599"),
});

const engineFigures = z.object({
  name: z.string(),
  crawled: count.describe("Requests for training and search"),
  answered: count.describe("Requests for the answer to a person"),
  referred: count.describe("Visits of the channel `AI Assistants` and this source"),
  conversions: count.describe("Events and page views of these visits that fulfil a goal, each once"),
  revenue,
});

const pageFigures = z.object({
  path: z.string(),
  crawled: count,
  answered: count,
  referred: count.describe("Visits of the channel `AI Assistants` that began here"),
  visitors: count.describe("All visitors of the page"),
  machines: z
    .array(z.object({ name: z.string(), requests: count }))
    .describe(`The ${maxReaders} machines with most requests for it, of any purpose`),
});

const { path, visitors, crawled, answered } = pageFigures.shape;
const unreadFigures = z.object({ path, visitors });
const unvisitedFigures = z.object({ path, crawled, answered });

/** Machines' requests have a day, and no hour. */
export const aiIntervals = ["day", "week", "month"] as const;

type AiInterval = (typeof aiIntervals)[number];

const pointName = z.string().optional();
const intervalNames = { day: pointName, week: pointName, month: pointName } satisfies Record<AiInterval, z.ZodType>;

const totals = { requests: count, crawled: count, answered: count, referred: count };

export const aiFigures = z.object({
  machines: z.array(machineFigures),
  engines: z.array(engineFigures),
  pages: z.array(pageFigures),
  unread: z.array(unreadFigures).optional().describe("Asked for by `lists`: pages with visitors that no machine read"),
  unvisited: z
    .array(unvisitedFigures)
    .optional()
    .describe("Asked for by `lists`: pages that crawlers or assistants read and nobody visited"),
  series: z
    .array(z.object({ ...intervalNames, ...totals }))
    .optional()
    .describe("With `interval`, every day, week from Monday or month of the range, under its name"),
  previous: z
    .object({ from: z.string(), to: z.string(), ...totals, conversions: count })
    .optional()
    .describe("With `compare=previous`, the totals of as many days before the range"),
});

type AiFigures = z.infer<typeof aiFigures>;

const columnsOf = {
  machines: machineFigures,
  engines: engineFigures,
  pages: pageFigures,
  unread: unreadFigures,
  unvisited: unvisitedFigures,
} as const;

type AiList = keyof typeof columnsOf;

const aiLists = Object.keys(columnsOf) as AiList[];
const gaps = ["unread", "unvisited"] as const satisfies AiList[];

/** Writes a list of the report as CSV; a column for each figure, amounts with their currency, machines with their requests. */
export function writeAiCsv(list: AiList, figures: AiFigures): string {
  type Row = Partial<Pick<Engine, "revenue"> & Pick<Page, "machines">> & Record<string, unknown>;
  const rows: readonly Row[] = figures[list] ?? [];
  const written = rows.map(({ revenue, machines, ...row }) => ({
    ...row,
    revenue: revenue?.map(({ amount, currency }) => `${amount} ${currency}`).join(" "),
    machines: machines?.map(({ name, requests }) => `${name} ${requests}`).join(" "),
  }));
  return writeTable(Object.keys(columnsOf[list].shape), written);
}

type Engine = AiFigures["engines"][number];
type Page = AiFigures["pages"][number];

const isOf =
  (dimension: string) =>
  ({ subject }: Filter) =>
    "dimension" in subject && subject.dimension === dimension;

/** What filters are about: dimensions of which requests of machines know something, too. */
const filtered = ["page", "source", "channel"] as const;

/**
 * Filters of the report. Those of `page` hold for requests and visits, those of `source` for visits and the machines of the engine,
 * those of `channel` for visits alone.
 */
export const aiFiltersParameter = asParameter(
  { type: "string", examples: ["page:contains:/docs;source:is:ChatGPT"] },
  filtersParameter
    .refine(
      (filters) => filters.every((filter) => filtered.some((name) => isOf(name)(filter))),
      `Must be of ${filtered.join(", ")}: requests of machines have no other attribute, so crawled and answered would count all`,
    )
    .describe(
      "Filters in the form of `stats`: of `page` for requests and visits, of `source` for visits and the machines of this engine, of `channel` for visits alone. With one of `page`, requests of `(other)` count nowhere",
    ),
);

/** Further lists of the answer, or the one of a CSV file. */
export const aiListsParameter = wordsParameter(aiLists)
  .default([])
  .describe(
    `Further lists, separated by commas: ${gaps.join(", ")}. With \`Accept: text/csv\` exactly one list, also from machines, engines, pages`,
  );

interface AiQuery {
  readonly siteId: string;
  readonly days: Days;
  readonly filters: readonly Filter[];
  readonly lists: readonly AiList[];
  readonly limit: number;
  readonly interval: AiInterval | undefined;
  readonly withPrevious: boolean;
}

type SeriesQuery = Pick<AiQuery, "siteId" | "days" | "filters"> & { readonly interval: AiInterval };

type Scope = Pick<AiQuery, "siteId" | "days" | "filters"> & { readonly known: Machines };

interface AiDeps {
  readonly pool: pg.Pool;
  readonly columns: ColumnReader;
  /** Answers without filters from unchanged days in memory. */
  readonly machines?: MachineMemory | undefined;
}

/** Reads which machines read a site, which visits their engines send, and what those do for its goals. */
export async function readAi(deps: AiDeps, asked: AiQuery): Promise<AiFigures> {
  const { siteId, days, limit, interval, withPrevious, lists } = asked;
  const { pool } = deps;
  const query = { ...asked, known: await machinesOf(pool) };
  const requests = requestsOf(query);
  const referrals = await readReferrals(deps, query);
  const figures = { ...requests, referred: referrals.byPage, limit };
  const inMemory = asked.filters.length === 0 ? await deps.machines?.(figures, deps.columns.work) : undefined;
  const { machines, pages } = inMemory ?? (await readMachineFigures(pool, figures));
  const shown = withinBytes(pages);
  const visitors = await readVisitorsOf(pool, { siteId, ...days, paths: shown.map(({ path }) => path) });
  const { unread, unvisited } = gaps.some((list) => lists.includes(list))
    ? await readGaps(pool, { ...requests, limit })
    : noGaps;
  return {
    machines: machines.slice(0, limit).map((machine) => toMachine(query.known, machine)),
    engines: toEngines(query.known, machines, referrals.bySource).slice(0, limit),
    pages: shown.map((page) => ({ ...page, visitors: visitors.get(page.path) ?? 0 })),
    ...(lists.includes("unread") && { unread: withinBytes(unread) }),
    ...(lists.includes("unvisited") && { unvisited: withinBytes(unvisited) }),
    ...(interval && { series: await readSeries(pool, { ...query, interval }, referrals.byDay) }),
    ...(withPrevious && { previous: await readTotals(deps, { ...query, days: previousDays(days) }) }),
  };
}

const noGaps = { unread: [], unvisited: [] };

/** Reads the figures of days over time, without the report's lists. */
export async function readAiSeries(deps: AiDeps, asked: SeriesQuery) {
  const query = { ...asked, known: await machinesOf(deps.pool) };
  const { byDay } = await readReferrals(deps, query);
  return readSeries(deps.pool, query, byDay);
}

/** Whether a value fulfils all filters of one attribute. */
const passes = (filters: readonly Filter[], value: string) =>
  filters.every(({ test, isNegated }) => test(value) !== isNegated);

/** The requests that filters of pages and sources leave: an engine's source is the one of its visits. */
function requestsOf({ siteId, days, filters, known }: Scope): Requests {
  const sources = filters.filter(isOf("source"));
  const isExcluded = passes(sources, "");
  const names = known.list.machines.filter(({ engine = "" }) => passes(sources, engine) !== isExcluded);
  const machines = sources.length === 0 ? undefined : { names: names.map(({ name }) => name), isExcluded };
  return { siteId, ...days, pages: filters.filter(isOf("page")), machines };
}

type MachineSums = Awaited<ReturnType<typeof readMachineFigures>>["machines"][number];

function toMachine(known: Machines, { machine: name, refuted, ...sums }: MachineSums): AiFigures["machines"][number] {
  const operator = known.find(name)?.operator ?? "";
  return { name, operator, ...sums, unknown: sums.requests - sums.verified - refuted, false: refuted };
}

function toEngines(
  known: Machines,
  machines: readonly MachineSums[],
  bySource: ReadonlyMap<string, Referral>,
): AiFigures["engines"] {
  const engines = new Map<string, { crawled: number; answered: number }>();
  for (const name of bySource.keys()) engines.set(name, { crawled: 0, answered: 0 });
  for (const { machine, purpose, requests } of machines) {
    const name = known.find(machine)?.engine;
    if (name === undefined) continue;
    const engine = engines.get(name) ?? { crawled: 0, answered: 0 };
    engines.set(name, engine);
    for (const figure of ["crawled", "answered"] as const)
      if (purposesOf[figure].some((each) => each === purpose)) engine[figure] += requests;
  }
  const rows = Array.from(engines, ([name, sums]) => {
    const { visits = 0, conversions = 0, revenue = new Map<string, bigint>() } = bySource.get(name) ?? {};
    return { name, ...sums, referred: visits, conversions, revenue: toRevenue(revenue) };
  });
  const read = ({ crawled, answered }: { crawled: number; answered: number }) => crawled + answered;
  return rows.sort((a, b) => read(b) - read(a) || b.referred - a.referred || (a.name < b.name ? -1 : 1));
}

/** Pages until the list's share of an answer; `(other)` stays. */
function withinBytes<Page extends { path: string }>(pages: readonly Page[]): Page[] {
  let bytes = 0;
  return pages.filter(({ path }) => {
    bytes += Buffer.byteLength(JSON.stringify(path)) + rowBytes;
    return bytes <= maxListBytes / 2 || path === otherValue;
  });
}

async function readSeries(
  pool: pg.Pool,
  { interval, ...query }: SeriesQuery & Scope,
  referred: ReadonlyMap<string, number>,
) {
  const { days } = query;
  const byDay = new Map((await readMachineDays(pool, requestsOf(query))).map((row) => [row.day, row]));
  const points = new Map<string, { requests: number; crawled: number; answered: number; referred: number }>();
  for (const day of listDays(days)) {
    const [name = day] = pointsOf[interval](day);
    const point = points.get(name) ?? { requests: 0, crawled: 0, answered: 0, referred: 0 };
    points.set(name, point);
    const { requests = 0, crawled = 0, answered = 0 } = byDay.get(day) ?? {};
    point.requests += requests;
    point.crawled += crawled;
    point.answered += answered;
    point.referred += referred.get(day) ?? 0;
  }
  return Array.from(points, ([name, point]) => {
    const named: Partial<Record<AiInterval, string>> = { [interval]: name };
    return { ...named, ...point };
  });
}

async function readTotals(deps: AiDeps, query: Scope) {
  const { days } = query;
  const rows = await readMachineDays(deps.pool, requestsOf(query));
  const { bySource } = await readReferrals(deps, query);
  const sumOf = (name: "requests" | "crawled" | "answered") => rows.reduce((sum, row) => sum + row[name], 0);
  const sent = [...bySource.values()];
  return {
    from: days.first,
    to: days.last,
    requests: sumOf("requests"),
    crawled: sumOf("crawled"),
    answered: sumOf("answered"),
    referred: sent.reduce((sum, { visits }) => sum + visits, 0),
    conversions: sent.reduce((sum, { conversions }) => sum + conversions, 0),
  };
}

const channel = "AI Assistants" satisfies Channel;
const ofAssistants = parseFilters(`channel:is:${channel}`);

/** Pages that visits of the asked days began with, in memory at once. */
const maxPages = 100_000;

interface Referral {
  visits: number;
  /** Events and page views that fulfil a goal, each once. */
  conversions: number;
  readonly revenue: Map<string, bigint>;
}

interface Referrals {
  readonly bySource: Map<string, Referral>;
  /** Visits by the page they began with. */
  readonly byPage: Map<string, number>;
  readonly byDay: Map<string, number>;
}

async function readReferrals(
  { pool, columns }: { pool: pg.Pool; columns: ColumnReader },
  { siteId, days, filters }: Scope,
): Promise<Referrals> {
  const pages = filters.filter(isOf("page"));
  const goals = await listGoals(pool, siteId);
  const referrals: Referrals = { bySource: new Map(), byPage: new Map(), byDay: new Map() };
  const needs = { details: goals.some(({ event }) => event !== null) };
  const { work } = columns;
  await columns.read({ siteId, days, needs }, async ({ day, part }) => {
    const { visits: matching } = await matchVisits(part, [...ofAssistants, ...filters], work);
    if (matching.includes(1)) await addPart(referrals, { day, part, matching, pages, goals, work });
  });
  return referrals;
}

interface MatchedPart {
  readonly day: string;
  readonly part: DayPart;
  readonly matching: Uint8Array;
  readonly pages: readonly Filter[];
  readonly goals: readonly Goal[];
  readonly work: Work;
}

async function addPart({ bySource, byPage, byDay }: Referrals, matched: MatchedPart): Promise<void> {
  const { day, part, matching, pages, work } = matched;
  const { source, entryPage } = part.visits.dimensions;
  const convert = await openConversions(matched);
  for (let visit = 0; visit < part.visits.count; visit++) {
    if (matching[visit] === 0) continue;
    const name = source.values[source.ids[visit] ?? 0] ?? "";
    const referral = bySource.get(name) ?? { visits: 0, conversions: 0, revenue: new Map() };
    bySource.set(name, referral);
    referral.visits++;
    const page = entryPage.values[entryPage.ids[visit] ?? 0] ?? "";
    if (page !== "" && passes(pages, page)) byPage.set(page, (byPage.get(page) ?? 0) + 1);
    byDay.set(day, (byDay.get(day) ?? 0) + 1);
    if (byPage.size > maxPages) throw tooLong("The days have too many pages");
    if (work.spend(20 + convert(referral, visit)) || work.look(pages.length * page.length)) await work.rest();
  }
}

/** Makes the function that adds a visit's conversions. @returns its steps */
async function openConversions({ part, goals, work }: MatchedPart): Promise<(to: Referral, visit: number) => number> {
  if (goals.length === 0) return () => 0;
  const { visits, events } = part;
  const { words, candidates, fulfils } = await matchGoals({ ...events, props: events.details?.props }, goals, work);
  const revenues = events.details?.revenue;
  const isConversion = (event: number) => {
    for (let word = 0; word < words; word++) {
      for (let bits = candidates(event, word); bits !== 0; bits &= bits - 1) {
        if (fulfils(32 * word + 31 - Math.clz32(bits & -bits), event)) return true;
      }
    }
    return false;
  };
  return (to, visit) => {
    const [first, end] = [visits.firstEvent[visit] ?? 0, visits.firstEvent[visit + 1] ?? 0];
    for (let event = first; event < end; event++) {
      if (!isConversion(event)) continue;
      to.conversions++;
      const amount = readRevenue(revenues?.values[revenues.ids[event] ?? 0] ?? "");
      if (amount) addRevenue(to.revenue, amount);
    }
    return (end - first) * (10 + words);
  };
}

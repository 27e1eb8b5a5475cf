import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import type { z } from "zod";
import {
  type BlockCondition,
  findPlaces,
  marksCondition,
  placesSource,
  type TracePlaces,
} from "./blocks/find-blocks.query.js";
import { marksOfSearch, marksOfText } from "./blocks/marks.js";
import type { Search } from "./contents/search-terms.js";
import { countedCallsSql, settleCalls } from "./model-calls/settle-calls.query.js";
import type { TraceStatus } from "./statuses.js";
import { givenLabels, type LabelsToFind, labelSql, listedNames, listedSql, type traceAnswers } from "./trace-fields.js";

/** An index in the order of lists: newest start first, then id. A page begins after it. */
export interface TraceCursor {
  startedAt: string;
  id: string;
  /** Where a search of contents goes on within the next trace. */
  within?: CursorWithin | undefined;
}

/** A place in a trace too large for one request. */
export interface CursorWithin {
  traceId: string;
  /** The search has read the spans up to this one, */
  spanId: string;
  /** with these terms in them or in the name, a bit each, */
  found: number;
  /** if it had the terms of this hash. */
  hash: number;
}

/** Finds traces with a score of this name, of the trace or a span; true counts as 1, false as 0. */
interface ScoreFilter {
  name: string;
  min?: number | undefined;
  max?: number | undefined;
}

export interface TracesToFind {
  accountId: string;
  agentId?: string | undefined;
  statuses?: readonly TraceStatus[] | undefined;
  labels?: LabelsToFind | undefined;
  /** A part of the name, in either case. */
  name?: string | undefined;
  /** Excludes traces without an end. */
  minDurationMs?: number | undefined;
  /** In dollars, a decimal number. Excludes traces without a cost. */
  minCost?: string | undefined;
  score?: ScoreFilter | undefined;
  /** Terms in names, inputs, outputs and errors. */
  search?: Search | undefined;
  from?: string | undefined;
  after: TraceCursor;
  limit: number;
}

export type ListedTrace = z.output<z.ZodObject<typeof traceAnswers.listed>> & { duration_ms: number | null };

/** The columns of a {@link ListedTrace} of `trace t`. */
export const listedColumns = `t.id, ${listedNames.map((name) => `${listedSql(name)} AS ${name}`).join(", ")},
    (extract(epoch FROM t.ended_at - t.started_at) * 1000)::float8 AS duration_ms`;

const listedMembers = ["id", ...listedNames, "duration_ms"] as const;

export function presentListedTrace(row: ListedTrace): ListedTrace {
  return Object.fromEntries(listedMembers.map((name) => [name, row[name]])) as unknown as ListedTrace;
}

/** One probe of `trace_pkey`, whose account hides others' traces. */
const findTraceSql = `SELECT ${listedColumns} FROM trace t WHERE t.account_id = $1 AND t.id = $2`;

/** The row of a trace; undefined if the account has none of that id. */
export async function findTrace(pool: pg.Pool, accountId: string, traceId: string): Promise<ListedTrace | undefined> {
  const statement = { name: "find-trace", text: findTraceSql, values: [accountId, traceId] };
  const [row] = (await pool.query<ListedTrace>(statement)).rows;
  return row && presentListedTrace(row);
}

/** Probes of `trace_pkey`, in the order of lists. */
const findTracesSql = `
  SELECT ${listedColumns} FROM trace t WHERE t.account_id = $1 AND t.id = ANY ($2::uuid[])
  ORDER BY t.started_at DESC, t.id DESC`;

/** Those of the traces that the account has. */
export async function findTraces(pool: pg.Pool, accountId: string, ids: readonly string[]): Promise<ListedTrace[]> {
  const { rows } = await pool.query<ListedTrace>({
    name: "find-traces",
    text: findTracesSql,
    values: [accountId, ids],
  });
  return rows.map(presentListedTrace);
}

export interface TracePage {
  traces: ListedTrace[];
  next: TraceCursor | null;
}

export const newestCursor: TraceCursor = { startedAt: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

export function cursorBefore(time: string): TraceCursor {
  return { startedAt: time, id: smallestUuid };
}

/** A search that has no page by then asks the blocks where its traces are. */
const maxScanMs = 5;

/** A search then returns what it has, so a rare match costs others little. On the bench's machine: a million entries. */
export const maxExamineMs = 500;

interface Filter {
  /** Part of the prepared statement's name. */
  key: string;
  values: readonly unknown[];
  sql(parameters: readonly string[]): string;
  block?: BlockCondition | undefined;
  /** An index has the matching traces in the order of lists, so none else is examined. */
  isIndexed?: boolean;
}

/** Parameters of every list: account, range, limit and time. */
const fixedValues = 6;

/**
 * A page in the order of `trace_listing_idx` from the cursor on. The index alone decides agent and status. After $6 ms every
 * entry counts as a match, so the limit ends the scan and the last row is the next cursor. The rows are probes of
 * `trace_pkey`; `OFFSET 0` keeps the planner from joining another way. A conversation or user has its own index in that order.
 */
function listTracesSql(filters: readonly Filter[], source: string): string {
  let number = fixedValues + 1;
  const conditions = filters.map(({ sql, values, isIndexed }) => ({
    isIndexed,
    sql: sql(values.map(() => `$${number++}`)),
  }));
  const allOf = (some: typeof conditions) => some.map(({ sql }) => sql).join(" AND ") || "true";
  const matches = allOf(conditions.filter(({ isIndexed }) => !isIndexed));
  return `
  SELECT e.matches, ${listedColumns}
  FROM (
    SELECT id, started_at, ${matches} AS matches FROM ${source}
    WHERE account_id = $1 AND started_at >= $2 AND (started_at, id) < ($3, $4)
      AND ${allOf(conditions.filter(({ isIndexed }) => isIndexed))}
      AND (${matches} OR clock_timestamp() > (SELECT statement_timestamp() + $6 * interval '1 ms'))
    ORDER BY started_at DESC, id DESC LIMIT $5
  ) e
  CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = e.id OFFSET 0) t
  ORDER BY e.started_at DESC, e.id DESC`;
}

/** All running traces from the small `trace_running_idx`, sorted afterwards. */
const runningSource = "(SELECT * FROM trace WHERE account_id = $1 AND status = 'running' OFFSET 0) AS trace";

/** Above this many running traces, the scan of the list fills a page sooner than sorting all of them. */
const fewRunning = 1_000;

/** Whether an account has few running traces; reads at most one more entry of `trace_running_idx`. */
const hasFewRunningSql = `
  SELECT count(*) <= ${fewRunning} AS few
  FROM (SELECT FROM trace WHERE account_id = $1 AND status = 'running' ORDER BY id LIMIT ${fewRunning + 1}) t`;

export interface Reading {
  maxMs?: number;
  scanMs?: number;
  isFromRunning?: boolean;
  places?: TracePlaces | undefined;
}

/** Returns one row more than the page holds if the list goes on. */
export function listTracesStatement(
  query: TracesToFind,
  { maxMs = maxExamineMs, isFromRunning = false, places }: Reading = {},
) {
  const filters = filtersOf(query);
  const values = filters.flatMap((filter) => filter.values);
  const placeValues = places ? [places.afterIds, places.lastIds, places.edge, places.changed] : [];
  const inPlaces = placesSource(placeValues.map((_, n) => `$${fixedValues + values.length + n + 1}`));
  const [kind, source] = places
    ? ["places", inPlaces]
    : isFromRunning
      ? ["running", runningSource]
      : ["traces", "trace"];
  return {
    name: `list-${kind} ${filters.map(({ key }) => key).join(" ")}`,
    text: listTracesSql(filters, source),
    values: [...rangeOf(query), query.limit + 1, maxMs, ...values, ...placeValues],
  };
}

function rangeOf({ accountId, from = "-infinity", after }: TracesToFind) {
  return [accountId, from, after.startedAt, after.id] as const;
}

/** A list of running traces reads their own index; a search that finds too little reads blocks that may have some. */
export async function listTraces(pool: pg.Pool, query: TracesToFind, reading: Reading = {}): Promise<TracePage> {
  if (query.minCost !== undefined) await settleCalls(pool, query.accountId);
  const isFromRunning = query.statuses?.join() === "running" && (await hasFewRunning(pool, query.accountId));
  const filters = filtersOf(query);
  const conditions = filters.some(({ isIndexed }) => isIndexed) ? [] : filters.flatMap(({ block }) => block ?? []);
  const { maxMs = maxExamineMs, scanMs = maxScanMs } = reading;
  if (isFromRunning || conditions.length === 0 || maxMs <= scanMs)
    return (await readPage(pool, query, { maxMs, isFromRunning })).page;
  const scanned = await readPage(pool, query, { maxMs: scanMs });
  if (scanned.isWhole) return scanned.page;
  const { accountId, from = "-infinity", after } = query;
  const places = await findPlaces(pool, { accountId, from, to: after.startedAt, conditions });
  return (await readPage(pool, query, { maxMs, places })).page;
}

/** `isWhole` unless the time was over before the page was full. */
export async function readPage(
  pool: pg.Pool,
  query: TracesToFind,
  reading: Reading,
): Promise<{ page: TracePage; isWhole: boolean }> {
  const { rows } = await pool.query<ListedTrace & { matches: boolean }>(listTracesStatement(query, reading));
  const found = rows.filter(({ matches }) => matches);
  const traces = found.slice(0, query.limit);
  if (rows.length <= query.limit) return { page: { traces, next: null }, isWhole: true };
  const isWhole = found.length > query.limit;
  const last = isWhole ? traces.at(-1) : rows.at(-1);
  return { page: { traces, next: last ? { startedAt: last.started_at, id: last.id } : null }, isWhole };
}

async function hasFewRunning(pool: pg.Pool, accountId: string): Promise<boolean> {
  const statement = { name: "has-few-running", text: hasFewRunningSql, values: [accountId] };
  return (await pool.query<{ few: boolean }>(statement)).rows[0]?.few ?? false;
}

/** The cheapest condition comes first. Contents are none of them: a search reads them afterwards. */
export function filtersOf(query: TracesToFind): Filter[] {
  const { agentId, statuses, minDurationMs, minCost, name, score, labels = {} } = query;
  const filters: Filter[] = [];
  if (agentId !== undefined) {
    const block = marksCondition("agent", marksOfText("agent_id", agentId));
    filters.push({ key: "agent", values: [agentId], sql: ([id]) => `agent_id = ${id}`, block });
  }
  if (statuses !== undefined) {
    // One comparison per status: `= ANY` makes the whole scan a third slower.
    const sql = (words: readonly string[]) => `(${words.map((word) => `status = ${word}`).join(" OR ")})`;
    const block = {
      key: "status",
      values: [statuses],
      sql: ([words]: readonly string[]) => `statuses && ${words}::text[]`,
    };
    filters.push({ key: `status${statuses.length}`, values: statuses, sql, block });
  }
  if (minDurationMs !== undefined) {
    const sql = ([ms]: readonly string[]) => `COALESCE(ended_at - started_at >= ${ms} * interval '1 ms', false)`;
    // The sum of milliseconds as a float may be a little off.
    const block = {
      key: "duration",
      values: [minDurationMs - 1],
      sql: ([ms]: readonly string[]) => `longest_ms >= ${ms}`,
    };
    filters.push({ key: "duration", values: [minDurationMs], sql, block });
  }
  for (const [label, text] of givenLabels(labels)) {
    const isIndexed = label === "session_id" || label === "user_id";
    const block = isIndexed ? undefined : marksCondition(label, marksOfText(label, text));
    filters.push({ key: label, values: [text], sql: ([is]) => labelSql(label, `${is}`), block, isIndexed });
  }
  if (name !== undefined) filters.push(nameFilter(name));
  if (minCost !== undefined) filters.push({ key: "cost", values: [minCost], sql: ([cost]) => costsSql(`${cost}`) });
  if (score !== undefined) filters.push(scoreFilter(score));
  return filters;
}

/** A range of `score_pkey` per entry. */
function scoreFilter({ name, min = -Infinity, max = Infinity }: ScoreFilter): Filter {
  const isBounded = min !== -Infinity || max !== Infinity;
  const sql = ([is, least, most]: readonly string[]) => `EXISTS (
    SELECT FROM score s WHERE s.account_id = $1 AND s.trace_id = trace.id AND s.name = ${is}
      ${isBounded ? `AND s.number BETWEEN ${least} AND ${most}` : ""})`;
  return { key: isBounded ? "bounded-score" : "score", values: isBounded ? [name, min, max] : [name], sql };
}

/** A range of `model_call_pkey` per examined trace. */
function costsSql(minCost: string): string {
  const costSql = `SELECT sum(counted.cost) FROM ${countedCallsSql} WHERE counted.account_id = $1 AND counted.trace_id = trace.id`;
  return `COALESCE((${costSql}) >= ${minCost}::numeric, false)`;
}

/** `lower` in the `C` collation knows A to Z, at a third of the cost of a language's rules. Other text becomes a pattern. */
function nameFilter(text: string): Filter {
  const marks = marksOfSearch(text);
  const block = marks && marksCondition("name", marks);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them.
  if (/^[\x00-\x7f]*$/.test(text))
    return { key: "name", values: [text.toLowerCase()], sql: ([part]) => `strpos(lower(name), ${part}) > 0`, block };
  return {
    key: "unicode-name",
    values: [[...text].map(eitherCase).join("")],
    sql: ([like]) => `name ~ ${like}`,
    block,
  };
}

/** Both cases of a character, if each is one character. */
export function lettersOf(character: string): string[] {
  const upper = character.toUpperCase();
  const cases = new Set([character, character.toLowerCase(), upper, upper.toLowerCase()]);
  return [...cases].filter((each) => [...each].length === 1);
}

/** A pattern (Postgres documentation, 9.7.3) for {@link lettersOf}. */
function eitherCase(character: string): string {
  const letters = lettersOf(character);
  if (letters.length > 1) return `[${letters.join("")}]`;
  return /^[^\w]$/.test(character) && character < "\x7f" ? `\\${character}` : character;
}

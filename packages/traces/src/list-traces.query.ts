import type pg from "pg";
import { isoText } from "./iso-text.js";
import type { TraceStatus } from "./statuses.js";

/** A place in the order of lists: newest first by when they started, then by id. */
export interface TracePlace {
  /** A timestamp that Postgres reads. */
  startedAt: string;
  id: string;
}

/** Which of an account's traces are asked for. */
export interface TracesToFind {
  accountId: string;
  agentId?: string | undefined;
  /** One of these, each named once. */
  statuses?: readonly TraceStatus[] | undefined;
  /** What the name contains, whatever the case of its letters. */
  name?: string | undefined;
  /** Traces that ended so long after their start, or later. */
  minDurationMs?: number | undefined;
  /** The earliest start. */
  from?: string | undefined;
  /** The page has what comes after this place. */
  after: TracePlace;
  /** Traces at most. */
  limit: number;
}

/** A trace as a list shows it. */
export interface ListedTrace {
  id: string;
  agent_id: string;
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at: string | null;
  duration_ms: number | null;
}

/** A page, and the place to go on from; null where nothing comes after it. */
export interface TracePage {
  traces: ListedTrace[];
  last: TracePlace | null;
}

/** The place before all traces. */
export const newestPlace: TracePlace = { startedAt: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

/** The place before the traces that started before a time. */
export function placeBefore(time: string): TracePlace {
  return { startedAt: time, id: "00000000-0000-0000-0000-000000000000" };
}

/**
 * How long entries are examined before a page goes out as it is: more than a million of them on the machine of the bench,
 * and several times what an account within its plan has. It bounds what a search for something rare takes from others.
 */
export const maxExamineMs = 500;

/** A condition on traces, of one parameter for each of its values. */
interface Filter {
  /** Tells this condition from others in a statement's name. */
  key: string;
  values: readonly unknown[];
  sql(parameters: readonly string[]): string;
}

/**
 * One page, read from `trace_listing_idx` in its order and from a place on, so that it takes nothing to come deep into a
 * list. Agent and status are decided in the index; a name or a duration needs the row. Once the time is up ($6), every
 * entry is taken whether it `matches` or not, so that the limit ends the scan and the last row says how far it came. The
 * page's rows are probes of `trace_pkey`, which `OFFSET 0` keeps the planner from turning into another join.
 */
function listTracesSql(filters: readonly Filter[], source: string): string {
  let number = 7;
  const matches = filters.map(({ sql, values }) => sql(values.map(() => `$${number++}`))).join(" AND ") || "true";
  return `
  SELECT e.matches, t.id, t.agent_id, t.name, t.status, ${isoText("t.started_at")} AS started_at,
    ${isoText("t.ended_at")} AS ended_at, (extract(epoch FROM t.ended_at - t.started_at) * 1000)::float8 AS duration_ms
  FROM (
    SELECT id, started_at, ${matches} AS matches FROM ${source}
    WHERE account_id = $1 AND started_at >= $2 AND (started_at, id) < ($3, $4)
      AND (${matches} OR clock_timestamp() > (SELECT statement_timestamp() + $6 * interval '1 ms'))
    ORDER BY started_at DESC, id DESC LIMIT $5
  ) e
  CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = e.id OFFSET 0) t
  ORDER BY e.started_at DESC, e.id DESC`;
}

/** The traces that run now, taken from `trace_running_idx` whole, and put in order afterwards. */
const runningSource = "(SELECT * FROM trace WHERE account_id = $1 AND status = 'running' OFFSET 0) AS trace";

/** As many as are put in order at once: beyond them a page is found sooner in the order of the list. */
const fewRunning = 1_000;

/** Whether few traces run now; as many entries of `trace_running_idx` at most. */
const hasFewRunningSql = `
  SELECT count(*) <= ${fewRunning} AS few
  FROM (SELECT FROM trace WHERE account_id = $1 AND status = 'running' ORDER BY id LIMIT ${fewRunning + 1}) t`;

/** How a page is read. */
interface Reading {
  /** How long entries are examined. */
  maxMs?: number;
  /** From the traces that run now alone. */
  isFromRunning?: boolean;
}

/** The statement for a page, which gives one row more than the page holds where anything comes after it. */
export function listTracesStatement(
  query: TracesToFind,
  { maxMs = maxExamineMs, isFromRunning = false }: Reading = {},
) {
  const filters = filtersOf(query);
  return {
    name: `list-${isFromRunning ? "running" : "traces"} ${filters.map(({ key }) => key).join(" ")}`,
    text: listTracesSql(filters, isFromRunning ? runningSource : "trace"),
    values: [
      query.accountId,
      query.from ?? "-infinity",
      query.after.startedAt,
      query.after.id,
      query.limit + 1,
      maxMs,
      ...filters.flatMap(({ values }) => values),
    ],
  };
}

/**
 * A page of an account's traces. What runs now is mostly little, and was started long ago where it got stuck: it is found
 * without going through the others.
 */
export async function listTraces(pool: pg.Pool, query: TracesToFind, reading: Reading = {}): Promise<TracePage> {
  const isFromRunning = query.statuses?.join() === "running" && (await hasFewRunning(pool, query.accountId));
  const statement = listTracesStatement(query, { ...reading, isFromRunning });
  const { rows } = await pool.query<ListedTrace & { matches: boolean }>(statement);
  const found = rows.filter(({ matches }) => matches);
  const traces = found.slice(0, query.limit);
  if (rows.length <= query.limit) return { traces, last: null };
  const last = found.length > query.limit ? traces.at(-1) : rows.at(-1);
  return { traces, last: last ? { startedAt: last.started_at, id: last.id } : null };
}

async function hasFewRunning(pool: pg.Pool, accountId: string): Promise<boolean> {
  const statement = { name: "has-few-running", text: hasFewRunningSql, values: [accountId] };
  return (await pool.query<{ few: boolean }>(statement)).rows[0]?.few ?? false;
}

/** What a trace must meet, the cheapest to decide first. */
function filtersOf({ agentId, statuses, minDurationMs, name }: TracesToFind): Filter[] {
  const filters: Filter[] = [];
  if (agentId !== undefined) filters.push({ key: "agent", values: [agentId], sql: ([id]) => `agent_id = ${id}` });
  if (statuses !== undefined) {
    // One comparison for each: `= ANY` of an array takes a third longer for the whole scan.
    const sql = (words: readonly string[]) => `(${words.map((word) => `status = ${word}`).join(" OR ")})`;
    filters.push({ key: `status${statuses.length}`, values: statuses, sql });
  }
  if (minDurationMs !== undefined) {
    const sql = ([ms]: readonly string[]) => `COALESCE(ended_at - started_at >= ${ms} * interval '1 ms', false)`;
    filters.push({ key: "duration", values: [minDurationMs], sql });
  }
  if (name !== undefined) filters.push(nameFilter(name));
  return filters;
}

/**
 * Names are in the `C` collation, whose `lower` knows A to Z alone: three times cheaper than a language's rules, and right
 * for text in ASCII. Other text is sought by a pattern that has both cases of each letter.
 */
function nameFilter(text: string): Filter {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them.
  if (/^[\x00-\x7f]*$/.test(text))
    return { key: "name", values: [text.toLowerCase()], sql: ([part]) => `strpos(lower(name), ${part}) > 0` };
  return { key: "unicode-name", values: [[...text].map(eitherCase).join("")], sql: ([like]) => `name ~ ${like}` };
}

/** A pattern (Postgres documentation, 9.7.3) of one character in both its cases, where it has two that are one character each. */
function eitherCase(character: string): string {
  const upper = character.toUpperCase();
  const cases = new Set([character, character.toLowerCase(), upper, upper.toLowerCase()]);
  const letters = [...cases].filter((each) => [...each].length === 1);
  if (letters.length > 1) return `[${letters.join("")}]`;
  // Only ASCII has characters that mean something in a pattern.
  return /^[^\w]$/.test(character) && character < "\x7f" ? `\\${character}` : character;
}

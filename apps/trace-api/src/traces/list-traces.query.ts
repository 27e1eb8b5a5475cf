import type pg from "pg";
import { isoText } from "../iso-text.js";
import type { TraceStatus } from "./trace.schema.js";

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
 * How long entries are examined before a page goes out as it is: some 200,000 to 400,000 of them. It bounds what a search
 * for something rare takes from others.
 */
const maxExamineMs = 100;

/** A condition on traces; its value is the statement's parameter of the given number. */
interface Filter {
  /** Tells this condition from others in a statement's name. */
  key: string;
  sql(parameter: string): string;
  value: unknown;
}

/**
 * One page, read from `trace_listing_idx` in its order and from a place on, so that it takes nothing to come deep into a
 * list. Agent and status are decided in the index; a name or a duration needs the row. Once the time is up ($6), every
 * entry is taken whether it `matches` or not, so that the limit ends the scan and the last row says how far it came. The
 * page's rows are probes of `trace_pkey`, which `OFFSET 0` keeps the planner from turning into another join.
 */
function listTracesSql(filters: readonly Filter[]): string {
  const matches = filters.map(({ sql }, index) => sql(`$${index + 7}`)).join(" AND ") || "true";
  return `
  SELECT e.matches, t.id, t.agent_id, t.name, t.status, ${isoText("t.started_at")} AS started_at,
    ${isoText("t.ended_at")} AS ended_at, (extract(epoch FROM t.ended_at - t.started_at) * 1000)::float8 AS duration_ms
  FROM (
    SELECT id, started_at, ${matches} AS matches FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND (started_at, id) < ($3, $4)
      AND (${matches} OR clock_timestamp() > (SELECT statement_timestamp() + $6 * interval '1 ms'))
    ORDER BY started_at DESC, id DESC LIMIT $5
  ) e
  CROSS JOIN LATERAL (SELECT * FROM trace WHERE account_id = $1 AND id = e.id OFFSET 0) t
  ORDER BY e.started_at DESC, e.id DESC`;
}

/** Reads pages of traces; the time for which one is searched is set for tests. */
export function createTraceLister({ pool, maxMs = maxExamineMs }: { pool: pg.Pool; maxMs?: number }) {
  return async (query: TracesToFind): Promise<TracePage> => {
    const filters = filtersOf(query);
    const { rows } = await pool.query<ListedTrace & { matches: boolean }>({
      name: `list-traces ${filters.map(({ key }) => key).join(" ")}`,
      text: listTracesSql(filters),
      values: [
        query.accountId,
        query.from ?? "-infinity",
        query.after.startedAt,
        query.after.id,
        // One more than the page holds tells whether anything comes after it.
        query.limit + 1,
        maxMs,
        ...filters.map(({ value }) => value),
      ],
    });
    const found = rows.filter(({ matches }) => matches);
    const traces = found.slice(0, query.limit);
    if (rows.length <= query.limit) return { traces, last: null };
    const last = found.length > query.limit ? traces.at(-1) : rows.at(-1);
    return { traces, last: last ? { startedAt: last.started_at, id: last.id } : null };
  };
}

/** What a trace must meet, the cheapest to decide first. */
function filtersOf({ agentId, statuses, minDurationMs, name }: TracesToFind): Filter[] {
  const filters: Filter[] = [];
  if (agentId !== undefined)
    filters.push({ key: "agent", sql: (parameter) => `agent_id = ${parameter}`, value: agentId });
  if (statuses !== undefined)
    filters.push({ key: "status", sql: (parameter) => `status = ANY(${parameter})`, value: statuses });
  if (minDurationMs !== undefined) {
    const sql = (parameter: string) => `COALESCE(ended_at - started_at >= ${parameter} * interval '1 ms', false)`;
    filters.push({ key: "duration", sql, value: minDurationMs });
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
    return { key: "name", sql: (parameter) => `strpos(lower(name), ${parameter}) > 0`, value: text.toLowerCase() };
  return { key: "unicode-name", sql: (parameter) => `name ~ ${parameter}`, value: [...text].map(eitherCase).join("") };
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

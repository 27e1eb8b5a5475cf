import { isUuid } from "@waymark/database";
import { asParameter, parseTimestamp, textField, wordsParameter } from "@waymark/service/fields";
import { z } from "zod";
import { maxSearchLength, readSearch, searchProblem } from "./contents/search-terms.js";
import { listIncludeParameter } from "./labels/list-parts.query.js";
import {
  type CursorWithin,
  cursorBefore,
  type ListedTrace,
  lettersOf,
  newestCursor,
  presentListedTrace,
  type TraceCursor,
  type TracePage,
  type TracesToFind,
} from "./list-traces.query.js";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters, readTimeAndId } from "./paging.js";
import { maxScoreName } from "./scores/read-scores.query.js";
import { traceStatuses } from "./statuses.js";
import { labelParameters, labelsToFind } from "./trace-fields.js";

const durationMessage = "Must be a whole number of milliseconds, of at most 12 digits";

const costPattern = /^\d{1,9}(\.\d{1,12})?$/;
const costMessage = "Must be a decimal number of dollars, at least 0, of at most 9 digits and 12 places";

const costParameter = asParameter(
  { type: "string", pattern: costPattern.source },
  z
    .string(costMessage)
    .regex(costPattern, costMessage)
    .optional()
    .describe("Only traces that cost at least this many dollars; those without a cost are left out"),
);

const boundMessage = "Must be a number";

const bound = (description: string) =>
  asParameter(
    { type: "number" },
    z
      .string(boundMessage)
      .regex(/^-?\d{1,15}(\.\d{1,15})?$/, boundMessage)
      .transform(Number)
      .optional()
      .describe(description),
  );

const scoreParameters = {
  score: textField({ min: 1, max: maxScoreName }).optional().describe("Only traces with a score of this name"),
  min_score: bound("With `score`: of at least this value; true counts as 1, false as 0"),
  max_score: bound("With `score`: of at most this value"),
};

const searchParameter = textField({ min: 1, max: maxSearchLength })
  .check(({ value, issues }) => {
    const message = searchProblem(value);
    if (message) issues.push({ code: "custom", message, input: value });
  })
  .transform(readSearch)
  .optional()
  .describe(
    'Only traces with all of these words in their names, inputs, outputs or errors, or in those of their spans, as parts of them and whatever their case; "a phrase" in quotes has its spaces',
  );

const filterParameters = {
  agent_id: textField({ min: 1, max: 255 }).optional().describe("The exact id of the agent"),
  status: wordsParameter(traceStatuses).describe("One status, or several separated by commas"),
  name: textField({ min: 1, max: 200 }).optional().describe("A part of the name; case is ignored"),
  ...rangeParameters,
  min_duration_ms: asParameter(
    { type: "integer", minimum: 0, maximum: 999_999_999_999 },
    z
      .string(durationMessage)
      .regex(/^\d{1,12}$/, durationMessage)
      .transform(Number)
      .optional()
      .describe("Only ended traces that took at least this many milliseconds"),
  ),
};

export const traceFilterSchema = z.object(filterParameters).superRefine(checkRange);

const findParameters = {
  ...filterParameters,
  q: searchParameter,
  ...labelParameters,
  min_cost: costParameter,
  ...scoreParameters,
};

export const traceQuerySchema = z
  .object({
    ...findParameters,
    include: listIncludeParameter,
    limit: limitParameter,
    cursor: cursorParameter(readCursor),
  })
  .superRefine(checkRange)
  .superRefine(checkScore);

/** A whole list as a file. */
export const traceExportSchema = z
  .object({ ...findParameters, format: z.enum(["ndjson", "csv"]) })
  .superRefine(checkRange)
  .superRefine(checkScore);

type TraceFilter = z.output<typeof traceFilterSchema>;

type TraceQuery = z.output<typeof traceQuerySchema>;

export function tracesToFind(accountId: string, query: Omit<TraceQuery, "include">): TracesToFind {
  return {
    accountId,
    agentId: query.agent_id,
    statuses: query.status,
    labels: labelsToFind(query),
    name: query.name,
    minDurationMs: query.min_duration_ms,
    minCost: query.min_cost,
    score: query.score === undefined ? undefined : { name: query.score, min: query.min_score, max: query.max_score },
    search: query.q,
    from: query.from,
    after: startOf(query),
    limit: query.limit,
  };
}

export function presentTracePage({ traces, next }: TracePage) {
  return {
    traces: traces.map(presentListedTrace),
    next_cursor: next && encodeCursor(textOfCursor(next)),
  };
}

function textOfCursor({ startedAt, id, within }: TraceCursor): string {
  const { traceId, spanId, found, hash } = within ?? {};
  return [startedAt, id, ...(within ? [traceId, spanId, found, hash] : [])].join(" ");
}

/** The cursor or `to`, whichever comes later in the list. */
function startOf({ cursor, to }: Pick<TraceQuery, "cursor" | "to">): TraceCursor {
  if (to === undefined) return cursor ?? newestCursor;
  return cursor !== undefined && cursor.startedAt < to ? cursor : cursorBefore(to);
}

function readCursor(text: string): TraceCursor | undefined {
  const read = readTimeAndId(text);
  const within = readWithin(read?.rest ?? []);
  if (!read || (read.rest.length > 0 && !within)) return undefined;
  return { startedAt: read.time, id: read.id, within };
}

function readWithin([traceId = "", spanId = "", found = "", hash = "", ...rest]: string[]): CursorWithin | undefined {
  const areNumbers = [found, hash].every((number) => /^\d{1,10}$/.test(number));
  if (!isUuid(traceId) || !isUuid(spanId) || !areNumbers || rest.length > 0) return undefined;
  return { traceId, spanId, found: Number(found), hash: Number(hash) };
}

interface ScoreQuery {
  score?: string | undefined;
  min_score?: number | undefined;
  max_score?: number | undefined;
}

/** Refuses bounds without a name. */
function checkScore({ score, min_score, max_score }: ScoreQuery, context: z.RefinementCtx): void {
  if (score !== undefined) return;
  const named = { min_score, max_score };
  for (const [path, value] of Object.entries(named))
    if (value !== undefined)
      context.addIssue({ code: "custom", path: [path], message: "Needs score, the name of the score" });
}

export type MatchesTrace = (trace: ListedTrace) => boolean;

/** The filters of a list for single traces; undefined where there is none. */
export function traceFilter(filter: TraceFilter): MatchesTrace | undefined {
  const { agent_id, status, name, from, to, min_duration_ms } = filter;
  const conditions: MatchesTrace[] = [];
  if (agent_id !== undefined) conditions.push((trace) => trace.agent_id === agent_id);
  if (status !== undefined) conditions.push((trace) => status.includes(trace.status));
  if (min_duration_ms !== undefined) {
    conditions.push(({ duration_ms }) => duration_ms !== null && duration_ms >= min_duration_ms);
  }
  if (from !== undefined) conditions.push((trace) => timeOf(trace) >= from);
  if (to !== undefined) conditions.push((trace) => timeOf(trace) < to);
  if (name !== undefined) {
    const pattern = namePattern(name);
    conditions.push((trace) => pattern.test(trace.name));
  }
  return conditions.length === 0 ? undefined : (trace) => conditions.every((matches) => matches(trace));
}

/** In the form of the parameters, which sorts as text. */
function timeOf({ started_at }: ListedTrace): string {
  const start = parseTimestamp(started_at);
  return start.ok ? start.value : started_at;
}

/** Like the list's search, ASCII text matches ASCII alone: `k` does not find the Kelvin sign. */
function namePattern(text: string): RegExp {
  const isAscii = !/[^\0-\x7f]/.test(text);
  const lettersIn = (character: string) => lettersOf(character).filter((each) => !isAscii || each <= "\x7f");
  const parts = [...text].map((character) => {
    const letters = lettersIn(character);
    return letters.length > 1 ? `[${letters.join("")}]` : character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
  return new RegExp(parts.join(""), "u");
}

import { isUuid } from "@waymark/database";
import { asParameter, parseTimestamp, textField } from "@waymark/service/fields";
import { z } from "zod";
import {
  cursorBefore,
  newestCursor,
  presentListedTrace,
  type TraceCursor,
  type TracePage,
  type TracesToFind,
} from "./list-traces.query.js";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters } from "./paging.js";
import { checkScore, scoreFilterOf, scoreParameters } from "./scores/score-filter.js";
import { type TraceStatus, traceStatuses } from "./statuses.js";

const statusMessage = `Must be one or several of these, separated by commas: ${traceStatuses.join(", ")}`;
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

const filterParameters = {
  agent_id: textField({ min: 1, max: 255 }).optional().describe("The exact id of the agent"),
  status: asParameter(
    { type: "array", items: { enum: [...traceStatuses] }, minItems: 1 },
    z
      .string(statusMessage)
      .transform((text) => [...new Set(text.split(","))])
      .refine((words): words is TraceStatus[] => words.every(isTraceStatus), statusMessage)
      .optional()
      .describe("One status, or several separated by commas"),
  ),
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

/** The filters of a list, without a position in it. */
export const traceFilterSchema = z.object(filterParameters).superRefine(checkRange);

export const traceQuerySchema = z
  .object({
    ...filterParameters,
    min_cost: costParameter,
    ...scoreParameters,
    limit: limitParameter,
    cursor: cursorParameter(readCursor),
  })
  .superRefine(checkRange)
  .superRefine(checkScore);

export type TraceFilter = z.output<typeof traceFilterSchema>;

type TraceQuery = z.output<typeof traceQuerySchema>;

export function tracesToFind(accountId: string, query: TraceQuery): TracesToFind {
  return {
    accountId,
    agentId: query.agent_id,
    statuses: query.status,
    name: query.name,
    minDurationMs: query.min_duration_ms,
    minCost: query.min_cost,
    score: scoreFilterOf(query),
    from: query.from,
    after: startOf(query),
    limit: query.limit,
  };
}

export function presentTracePage({ traces, next }: TracePage) {
  return {
    traces: traces.map(presentListedTrace),
    next_cursor: next && encodeCursor(`${next.startedAt} ${next.id}`),
  };
}

/** The cursor or `to`, whichever comes later in the list. */
function startOf({ cursor, to }: TraceQuery): TraceCursor {
  if (to === undefined) return cursor ?? newestCursor;
  return cursor !== undefined && cursor.startedAt < to ? cursor : cursorBefore(to);
}

function readCursor(text: string): TraceCursor | undefined {
  const [time = "", id = "", ...rest] = text.split(" ");
  const startedAt = parseTimestamp(time);
  return startedAt.ok && isUuid(id) && rest.length === 0 ? { startedAt: startedAt.value, id } : undefined;
}

function isTraceStatus(word: string): word is TraceStatus {
  return (traceStatuses as readonly string[]).includes(word);
}

import { principalOf } from "@waymark/auth";
import { type CreateGroupCommit, isUuid } from "@waymark/database";
import { parseTimestamp, textField } from "@waymark/fields";
import { asParameter, named, route } from "@waymark/http";
import {
  listTraces,
  maxExamineMs,
  newestPlace,
  placeBefore,
  type TracePage,
  type TracePlace,
  type TraceStatus,
  type TracesToFind,
  traceStatuses,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters } from "../paging.js";

const timestamp = z.string().meta({ format: "date-time" });

const listedTraceSchema = named(
  "ListedTrace",
  z.object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string(),
    status: z.enum(traceStatuses),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    duration_ms: z.number().nullable(),
  }),
);

const listSchema = named(
  "TracePage",
  z.object({ traces: z.array(listedTraceSchema), next_cursor: z.string().nullable() }),
);

const statusMessage = `Must be one or several of these, separated by commas: ${traceStatuses.join(", ")}`;
const durationMessage = "Must be a whole number of milliseconds, of at most 12 digits";

/** A search may take half a second: however many are asked for, most connections are left to writes. */
const maxPagesInFlight = 3;
/** Of one account: the other one is left to others. */
const maxPagesPerAccount = 2;
/** Pages that may wait: more would wait for longer than a client does. */
const maxPagesWaiting = 200;

const querySchema = z
  .object({
    agent_id: textField({ min: 1, max: 255 }).optional().describe("The agent, exactly"),
    status: asParameter(
      { type: "array", items: { enum: [...traceStatuses] }, minItems: 1 },
      z
        .string(statusMessage)
        .transform((text) => [...new Set(text.split(","))])
        .refine((words): words is TraceStatus[] => words.every(isTraceStatus), statusMessage)
        .optional()
        .describe("One status, or several separated by commas"),
    ),
    name: textField({ min: 1, max: 200 }).optional().describe("What the name contains; the case of letters is ignored"),
    ...rangeParameters,
    min_duration_ms: asParameter(
      { type: "integer", minimum: 0, maximum: 999_999_999_999 },
      z
        .string(durationMessage)
        .regex(/^\d{1,12}$/, durationMessage)
        .transform(Number)
        .optional()
        .describe("Only traces that ended, and took at least so many milliseconds"),
    ),
    limit: limitParameter,
    cursor: cursorParameter(readPlace),
  })
  .superRefine(checkRange);

/** `GET /traces`: an account's traces, newest first, by page; all filters are optional. */
export function listTracesRoute({ pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit }) {
  const readPage = createGroupCommit<TracesToFind, TracePage>({
    name: "list-traces",
    run: (queries) => Promise.all(queries.map((query) => listTraces(pool, query))),
    maxInFlight: maxPagesInFlight,
    maxInFlightPerOwner: maxPagesPerAccount,
    maxWaitingRows: maxPagesWaiting,
    maxRows: 1,
  });
  return route({
    method: "get",
    path: "/traces",
    operationId: "listTraces",
    summary: "List and search traces",
    description: `Newest first by \`started_at\`. Pages stay right while traces arrive: what was there comes once. A search for something rare pauses after ${maxExamineMs} milliseconds; then the page is short or empty, and \`next_cursor\` goes on from there. The list is at its end where \`next_cursor\` is null.`,
    query: querySchema,
    answers: {
      200: {
        description: "A page of traces",
        schema: listSchema,
        example: {
          traces: [
            {
              id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f",
              agent_id: "billing-agent",
              name: "Refund order 1042",
              status: "success",
              started_at: "2026-01-31T12:00:00.000Z",
              ended_at: "2026-01-31T12:00:04.250Z",
              duration_ms: 4250,
            },
          ],
          next_cursor: null,
        },
      },
    },
    async handle({ query, response }) {
      const { traces, last } = await readPage({
        accountId: principalOf(response).accountId,
        agentId: query.agent_id,
        statuses: query.status,
        name: query.name,
        minDurationMs: query.min_duration_ms,
        from: query.from,
        after: startOf(query),
        limit: query.limit,
      });
      const listed = traces.map(({ id, agent_id, name, status, started_at, ended_at, duration_ms }) => {
        return { id, agent_id, name, status, started_at, ended_at, duration_ms };
      });
      const next_cursor = last && encodeCursor(`${last.startedAt} ${last.id}`);
      return { status: 200, body: { traces: listed, next_cursor } satisfies z.output<typeof listSchema> };
    },
  });
}

/** Where a page begins: at the cursor or at `to`, whichever comes later in the list. */
function startOf({ cursor, to }: { cursor?: TracePlace | undefined; to?: string | undefined }): TracePlace {
  if (to === undefined) return cursor ?? newestPlace;
  return cursor !== undefined && cursor.startedAt < to ? cursor : placeBefore(to);
}

function readPlace(text: string): TracePlace | undefined {
  const [time = "", id = "", ...rest] = text.split(" ");
  const startedAt = parseTimestamp(time);
  return startedAt.ok && isUuid(id) && rest.length === 0 ? { startedAt: startedAt.value, id } : undefined;
}

function isTraceStatus(word: string): word is TraceStatus {
  return (traceStatuses as readonly string[]).includes(word);
}

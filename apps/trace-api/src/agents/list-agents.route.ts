import { principalOf } from "@waymark/auth";
import type { CreateGroupCommit } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { textProblem } from "@waymark/fields";
import { named, route } from "@waymark/http";
import { type AgentPage, type AgentsToList, listAgents, maxTraces } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters } from "../paging.js";

const timestamp = z.string().meta({ format: "date-time" });

const agentSchema = named(
  "Agent",
  z.object({
    id: z.string(),
    created_at: timestamp,
    traces: z.object({ running: z.number(), success: z.number(), error: z.number(), timeout: z.number() }),
    last_started_at: timestamp.nullable().describe("Of the traces in the range"),
  }),
);

const agentsSchema = named(
  "AgentPage",
  z.object({ agents: z.array(agentSchema), from: timestamp, to: timestamp, next_cursor: z.string().nullable() }),
);

/** The days before `to` where `from` is not given. */
const defaultDays = 30;
/** The first millisecond that a timestamp can name. */
const earliest = Date.parse("0001-01-01T00:00:00Z");

/** Counting may take a tenth of a second: however often it is asked for, most connections are left to writes. */
const maxPagesInFlight = 2;
/** Of one account: the other one is left to others. */
const maxPagesPerAccount = 1;
/** Pages that may wait: more would wait for longer than a client does. */
const maxPagesWaiting = 200;

const querySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts traces that started at this time or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe("Counts traces that started before this time; now if omitted"),
    limit: limitParameter,
    cursor: cursorParameter((text) => (text !== "" && textProblem(text) === undefined ? text : undefined)),
  })
  .superRefine(checkRange);

/** `GET /agents`: an account's agents by id, with their traces of a range of time by status. */
export function listAgentsRoute({
  pool,
  createGroupCommit,
  now,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  now(): Date;
}) {
  const readPage = createGroupCommit<AgentsToList, AgentPage | undefined>({
    name: "list-agents",
    run: (queries) => Promise.all(queries.map((query) => listAgents(pool, query))),
    maxInFlight: maxPagesInFlight,
    maxInFlightPerOwner: maxPagesPerAccount,
    maxWaitingRows: maxPagesWaiting,
    maxRows: 1,
  });
  return route({
    method: "get",
    path: "/agents",
    operationId: "listAgents",
    summary: "List agents, with counts of their traces by status",
    description: `Counts are of the traces that started from \`from\` up to \`to\`, which the answer names; give both to read several pages with the same. A range of more than ${maxTraces.toLocaleString("en")} traces is refused with 400.`,
    query: querySchema,
    answers: {
      200: {
        description: "A page of agents, by id",
        schema: agentsSchema,
        example: {
          agents: [
            {
              id: "billing-agent",
              created_at: "2026-01-02T09:30:00.000Z",
              traces: { running: 1, success: 240, error: 3, timeout: 0 },
              last_started_at: "2026-01-31T12:00:00.000Z",
            },
          ],
          from: "2026-01-01T12:00:00.000Z",
          to: "2026-01-31T12:00:00.000Z",
          next_cursor: null,
        },
      },
    },
    async handle({ query, response }) {
      const { accountId } = principalOf(response);
      const range = resolveRange(query, now());
      const page = await readPage({ accountId, ...range, after: query.cursor ?? "", limit: query.limit });
      if (!page) {
        throw validationError({
          from: `Must be later: more than ${maxTraces.toLocaleString("en")} traces started from ${range.from} up to ${range.to}`,
        });
      }
      const next_cursor = page.isLast ? null : encodeCursor(page.agents.at(-1)?.id ?? "");
      return {
        status: 200,
        body: { agents: page.agents, ...range, next_cursor } satisfies z.output<typeof agentsSchema>,
      };
    },
  });
}

/** The range in the form of answers; its end is now where none is given. */
function resolveRange(query: { from?: string | undefined; to?: string | undefined }, now: Date) {
  const to = query.to ?? now.toISOString();
  const from = query.from ?? new Date(Math.max(earliest, Date.parse(to) - defaultDays * 86_400_000)).toISOString();
  if (query.to === undefined && from >= to)
    throw validationError({ from: "Must be before now, where to is not given" });
  return { from: withoutZeros(from), to: withoutZeros(to) };
}

/** A timestamp as answers have it: milliseconds, and microseconds where there are any. */
function withoutZeros(time: string): string {
  return time.replace(/(\.\d{3})000Z$/, "$1Z");
}

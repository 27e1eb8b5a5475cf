import { principalOf } from "@waymark/auth";
import type { CreateGroupCommit } from "@waymark/database";
import { named, route } from "@waymark/http";
import {
  type AgentPage,
  type AgentsToList,
  agentQuerySchema,
  agentsToList,
  listAgents,
  maxCountedTraces,
  presentAgentPage,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";

const timestamp = z.string().meta({ format: "date-time" });

const agentSchema = named(
  "Agent",
  z.object({
    id: z.string(),
    created_at: timestamp,
    traces: z.object({ running: z.number(), success: z.number(), error: z.number(), timeout: z.number() }),
    last_started_at: timestamp.nullable().describe("The latest start of a trace in the range"),
  }),
);

const agentsSchema = named(
  "AgentPage",
  z.object({ agents: z.array(agentSchema), from: timestamp, to: timestamp, next_cursor: z.string().nullable() }),
);

/** Counting may take a tenth of a second: most of the pool's connections stay free for writes. */
const maxPagesInFlight = 2;
/** The other one stays free for other accounts. */
const maxPagesPerAccount = 1;
/** More would wait longer than a client does. */
const maxPagesWaiting = 200;

/** `GET /agents`: an account's agents by id, with counts of their traces by status. */
export function listAgentsRoute({
  pool,
  createGroupCommit,
  now,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  now(): Date;
}) {
  const readPage = createGroupCommit<AgentsToList, AgentPage>({
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
    description: `Counts the traces that started from \`from\` up to \`to\`. The answer has both times; repeat them to read several pages of the same range. A range of more than ${maxCountedTraces.toLocaleString("en")} traces is refused with 400.`,
    query: agentQuerySchema,
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
      const page = await readPage(agentsToList(principalOf(response).accountId, query, now()));
      return { status: 200, body: presentAgentPage(page) satisfies z.output<typeof agentsSchema> };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  type AgentPage,
  type AgentsToList,
  agentQuerySchema,
  agentsToList,
  listAgents,
  maxCountedTraces,
  presentAgentPage,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";
import { slowReads } from "../batching/one-at-a-time.js";
import type { TimedReads } from "../batching/timed-reads.js";
import { figureMembers } from "./figures.schema.js";

const figuresOnDemand = z.object(figureMembers).partial().shape;

const agentSchema = named(
  "Agent",
  z.object({
    id: z.string(),
    created_at: timestamp,
    traces: z.object({ running: z.number(), success: z.number(), error: z.number(), timeout: z.number() }),
    last_started_at: timestamp.nullable().describe("The latest start of a trace in the range"),
    ...figuresOnDemand,
  }),
);

const agentsSchema = named(
  "AgentPage",
  z.object({ agents: z.array(agentSchema), from: timestamp, to: timestamp, next_cursor: z.string().nullable() }),
);

/** `GET /agents`: an account's agents by id, with counts of their traces by status. */
export function listAgentsRoute({ pool, createGroupCommit, now }: TimedReads) {
  const readPage = createGroupCommit<AgentsToList, AgentPage>({
    name: "list-agents",
    run: (queries) => Promise.all(queries.map((query) => listAgents(pool, query))),
    ...slowReads,
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

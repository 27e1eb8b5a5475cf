import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  agentQuerySchema,
  agentSchema,
  agentsToList,
  fewWaiting,
  listAgents,
  maxCountedTraces,
  oneByOne,
  type TimedBatching,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";

const agentsSchema = named(
  "AgentPage",
  z.object({
    agents: z.array(named("Agent", agentSchema)),
    from: timestamp,
    to: timestamp,
    next_cursor: z.string().nullable(),
  }),
);

export function listAgentsRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "list-agents", listAgents, fewWaiting);
  return route({
    method: "get",
    scope: "read",
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
      return { status: 200, body: await read(agentsToList(principalOf(response).accountId, query, deps.now())) };
    },
  });
}

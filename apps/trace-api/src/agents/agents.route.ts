import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  agentQuerySchema,
  agentSchema,
  agentsToList,
  fewWaiting,
  listAgents,
  maxCountedTraces,
  oneByOne,
  readSeries,
  seriesEntrySchema,
  seriesQuerySchema,
  seriesToRead,
  type TimedBatching,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";
import { agentNotFound } from "../answers.js";
import { agentIdOf, agentIdParameter } from "../path-ids.js";

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

const seriesSchema = named(
  "AgentSeries",
  z.object({
    agent_id: z.string(),
    from: timestamp,
    to: timestamp,
    interval: z.string(),
    series: z.array(seriesEntrySchema),
  }),
);

export function readSeriesRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "read-agent-series", readSeries, fewWaiting);
  return route({
    method: "get",
    scope: "read",
    path: "/agents/:agent_id/series",
    operationId: "readAgentSeries",
    summary: "Read an agent's traces, failures, durations, tokens and cost by hour or day",
    description:
      "Counts traces by their start, in UTC. Each hour or day of the range has an entry; the first and last one hold the range's part of it. Tokens and cost are those of spans by their start; of days, they are those of the whole day.",
    params: agentIdParameter,
    query: seriesQuerySchema,
    answers: {
      200: {
        description: "The series, oldest first",
        schema: seriesSchema,
        example: {
          agent_id: "billing-agent",
          from: "2026-01-31T00:00:00.000Z",
          to: "2026-02-01T00:00:00.000Z",
          interval: "day",
          series: [
            {
              at: "2026-01-31T00:00:00.000Z",
              traces: 244,
              success: 240,
              error: 3,
              timeout: 0,
              running: 1,
              failure_rate: 0.012345679012345678,
              p50_ms: 1840,
              p90_ms: 4250.5,
              p95_ms: 5120,
              p99_ms: 9120,
              input_tokens: 254248,
              output_tokens: 19520,
              cost_usd: "0.83082",
            },
          ],
        },
      },
      404: agentNotFound,
    },
    async handle({ params, query, response }) {
      const of = { accountId: principalOf(response).accountId, agentId: agentIdOf(params) };
      const series = await read(seriesToRead(of, query, deps.now()));
      if (!series) throw new AppError("agent_not_found");
      return { status: 200, body: series };
    },
  });
}

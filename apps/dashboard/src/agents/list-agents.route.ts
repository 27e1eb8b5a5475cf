import { route } from "@waymark/http";
import { readAgentDurations, readAgentFigures } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { createAgentCache } from "./agent-cache.js";
import { agentDays } from "./agent-days.js";
import type { AgentList, DurationList } from "./agents.schema.js";

interface Deps {
  pool: pg.Pool;
  now(): Date;
}

/** `GET /agents` */
export function listAgentsRoute({ pool, now }: Deps) {
  const cached = createAgentCache<AgentList>(now);
  return route({
    method: "get",
    path: "/agents",
    operationId: "listAgents",
    summary: "Traces and failures per agent and day of the last 30 days",
    answers: { 200: { description: "The agents", schema: z.custom<AgentList>() } },
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      const days = agentDays(now());
      const { from, to } = days;
      const read = async () => ({ from, to, agents: await readAgentFigures(pool, { accountId, ...days }) });
      return { status: 200, body: await cached(accountId, read) };
    },
  });
}

/** `GET /agent-durations`: apart, since they take longer. Below `/agents` it would hide an agent of that name. */
export function listDurationsRoute({ pool, now }: Deps) {
  const cached = createAgentCache<DurationList>(now);
  return route({
    method: "get",
    path: "/agent-durations",
    operationId: "listAgentDurations",
    summary: "The durations' percentiles per agent of the last 30 days",
    answers: { 200: { description: "The agents", schema: z.custom<DurationList>() } },
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      const { from, to } = agentDays(now());
      const read = async () => ({ agents: await readAgentDurations(pool, { accountId, from, to }) });
      return { status: 200, body: await cached(accountId, read) };
    },
  });
}

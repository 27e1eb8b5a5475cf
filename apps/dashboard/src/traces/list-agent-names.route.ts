import { route } from "@waymark/service/http";
import { listAgentNames } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import type { AgentNames } from "./traces.schema.js";

/** `GET /traces/agents`: the agents to choose from, without figures. */
export function listAgentNamesRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "get",
    path: "/traces/agents",
    operationId: "listAgentNames",
    summary: "List the names of agents",
    answers: { 200: { description: "Agents by name", schema: z.custom<AgentNames>() } },
    async handle({ response }) {
      return { status: 200, body: { agents: await listAgentNames(pool, viewerOf(response).accountId) } };
    },
  });
}

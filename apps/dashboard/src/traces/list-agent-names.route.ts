import { pageRoute } from "@waymark/service/http";
import { listAgentNames } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { AgentNames } from "./traces.schema.js";

/** `GET /traces/agents`: the agents to choose from, without figures. */
export function listAgentNamesRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/traces/agents",
    async handle({ response }) {
      return {
        status: 200,
        body: { agents: await listAgentNames(pool, viewerOf(response).accountId) } satisfies AgentNames,
      };
    },
  });
}

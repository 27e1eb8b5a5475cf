import { agentQuerySchema, agentSchema, agentsToList, listAgents } from "@waymark/traces";
import { type ExportDeps, exportRoute } from "../exports/export-route.js";

const { traces: counts, ...columns } = agentSchema.shape;

/** The agents of the trace API with its figures: the page has no more of them. */
export function agentExports(deps: ExportDeps) {
  return [
    exportRoute(deps, {
      name: "agents",
      query: agentQuerySchema,
      columns: [...Object.keys(columns), ...Object.keys(counts.shape)],
      async read(accountId, query) {
        const asked = agentsToList(accountId, { ...query, include: "figures" }, deps.now());
        const { agents, next_cursor: next } = await listAgents(deps.pool, asked);
        return { rows: agents.map(({ traces, ...agent }) => ({ ...agent, ...traces })), next };
      },
    }),
  ];
}

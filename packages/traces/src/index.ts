export { largeAnswerLimits } from "./get-large-trace.query.js";
export { createTraceReader } from "./get-trace.query.js";
export { getUsage, getUsageStatement, presentUsage, type Used } from "./get-usage.query.js";
export {
  type AgentPage,
  type AgentsToList,
  listAgents,
  listAgentsStatement,
  maxCountedTraces,
} from "./list-agents.query.js";
export { agentQuerySchema, agentsToList, presentAgentPage } from "./list-agents.schema.js";
export {
  type ListedTrace,
  listTraces,
  listTracesStatement,
  maxExamineMs,
  newestCursor,
  type TracePage,
  type TracesToFind,
} from "./list-traces.query.js";
export { presentTracePage, traceQuerySchema, tracesToFind } from "./list-traces.schema.js";
export { spanStatuses, type TraceStatus, traceStatuses } from "./statuses.js";

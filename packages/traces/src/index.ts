export { type LargeAnswers, largeAnswerLimits } from "./get-large-trace.query.js";
export { createTraceReader, type ReadTrace } from "./get-trace.query.js";
export { getUsage, getUsageStatement } from "./get-usage.query.js";
export {
  type AgentPage,
  type AgentsToList,
  type ListedAgent,
  listAgents,
  listAgentsStatement,
  maxTraces,
} from "./list-agents.query.js";
export {
  type ListedTrace,
  listTraces,
  listTracesStatement,
  maxExamineMs,
  newestPlace,
  placeBefore,
  type TracePage,
  type TracePlace,
  type TracesToFind,
} from "./list-traces.query.js";
export { spanStatuses, type TraceStatus, traceStatuses } from "./statuses.js";
export { firstId } from "./trace-json.js";

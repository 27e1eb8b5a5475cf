export { createTraceDeleter, type DeleteTraceDeps, deleteTraceStatement, findTraceName } from "./delete-trace.query.js";
export { failingSpanSql } from "./failing-span.js";
export { findOtelTrace } from "./find-otel-trace.query.js";
export { largeAnswerLimits } from "./get-large-trace.query.js";
export { createTraceReader } from "./get-trace.query.js";
export { getUsage, getUsageStatement, presentUsage, type Used } from "./get-usage.query.js";
export { listAgentNames } from "./list-agent-names.query.js";
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
  type TracesToFind,
} from "./list-traces.query.js";
export { presentTracePage, traceQuerySchema, tracesToFind } from "./list-traces.schema.js";
export {
  type AgentDurations,
  type AgentFigures,
  type AgentTrace,
  type DayDurations,
  maxDurations,
  readAgentDurations,
  readAgentFigures,
  readDayDurations,
  readFailures,
  readSlowest,
} from "./read-agent-figures.query.js";
export { maxChanges, readChanges } from "./read-changes.query.js";
export { readContent } from "./read-content.query.js";
export { readNotes } from "./read-notes.query.js";
export { type OutlinePage, type OutlineTrace, readOutline } from "./read-outline.query.js";
export { type ContentName, readSpan, type SpanContents } from "./read-span.query.js";
export { createTracePageReader } from "./read-trace-page.js";
export { spanStatuses, type TraceStatus, traceStatuses } from "./statuses.js";

export { readSeries, type SeriesEntry, type SeriesToRead } from "./agents/read-series.query.js";
export { presentSeries, seriesQuerySchema, seriesToRead } from "./agents/read-series.schema.js";
export { listAccountsToBlock, storeBlocks } from "./blocks/store-blocks.query.js";
export { createTraceDeleter, type DeleteTraceDeps, findTraceName } from "./delete-trace.query.js";
export { failingSpanSql } from "./failing-span.js";
export { clearFailures, type FailedTrace } from "./failures/group-failures.js";
export { type FailurePage, type FailuresToList, listFailures } from "./failures/list-failures.query.js";
export { failureQuerySchema, failuresToList, presentFailurePage } from "./failures/list-failures.schema.js";
export { readTraceFailures } from "./failures/read-trace-failures.query.js";
export { type Columns, columnArrays, rowSql, textOf, unnestSql } from "./field-table.js";
export { findOtelTrace } from "./find-otel-trace.query.js";
export { largeAnswerLimits, type TraceChunk } from "./get-large-trace.query.js";
export { createTraceReader, type TraceReader } from "./get-trace.query.js";
export { getUsage, presentUsage, type Used } from "./get-usage.query.js";
export { timestamp } from "./iso-text.js";
export { listAgentNames } from "./list-agent-names.query.js";
export {
  type AgentPage,
  type AgentsToList,
  listAgents,
  maxCountedTraces,
} from "./list-agents.query.js";
export { agentQuerySchema, agentsToList, presentAgentPage } from "./list-agents.schema.js";
export {
  type ListedTrace,
  listTraces,
  maxExamineMs,
  newestCursor,
  presentListedTrace,
  type TracesToFind,
} from "./list-traces.query.js";
export { presentTracePage, traceFilterSchema, traceQuerySchema, tracesToFind } from "./list-traces.schema.js";
export { modelUsageQuerySchema, modelUsageToRead, presentModelUsage } from "./model-calls/model-usage.schema.js";
export {
  type ModelUsage,
  type ModelUsageToRead,
  readModelUsage,
  readTraceUsage,
} from "./model-calls/read-model-usage.query.js";
export { readUsageTables, type UsageTables, usageIntervals } from "./model-calls/read-usage-tables.query.js";
export { rebuildUsage } from "./model-calls/rebuild-usage.js";
export { listAccountsWithDueCalls, settleCalls } from "./model-calls/settle-calls.query.js";
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
export { readNotes } from "./read-notes.query.js";
export { type OutlinePage, type OutlineTrace, readOutline } from "./read-outline.query.js";
export { readContent, readSpan, type SpanContents } from "./read-span.query.js";
export { readStream, type StreamPage, type StreamPosition } from "./read-stream.query.js";
export { createTracePageReader } from "./read-trace-page.js";
export {
  type AgentScoresToRead,
  readAgentScores,
  readTraceScores,
  type ScoreSummary,
} from "./scores/read-scores.query.js";
export { agentScoresQuerySchema, agentScoresToRead } from "./scores/read-scores.schema.js";
export { maxScoreName } from "./scores/score-filter.js";
export {
  attributesTooLarge,
  type ContentName,
  changedNames,
  columnOfBody,
  contentNames,
  fieldOf,
  type NewSpan,
  newSpanSchema,
  opaqueNames,
  type SpanChange,
  sizedNames,
  spanAnswers,
  spanChangeSchema,
  spanColumns,
  storedAttributes,
} from "./span-fields.js";
export { setStatusChangeSql, statusTimeSql } from "./status-change.js";
export type { TraceStatus } from "./statuses.js";
export {
  type FinalTrace,
  finalTraceSchema,
  type NewTrace,
  newTraceSchema,
  sizedTraceNames,
  traceAnswers,
  traceColumns,
} from "./trace-fields.js";
export { type MatchesTrace, traceFilter } from "./trace-filter.js";

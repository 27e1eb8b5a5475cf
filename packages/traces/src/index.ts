export { readFigures } from "./agents/figures.query.js";
export { readSeries, seriesEntrySchema, seriesQuerySchema, seriesToRead } from "./agents/read-series.query.js";
export {
  type Batching,
  fewWaiting,
  isSpanSql,
  keepTraceSql,
  type LoggedBatching,
  type OnLock,
  oneByOne,
  onLockStatements,
  skipLockedSql,
  type TimedBatching,
} from "./batching.js";
export { listAccountsToBlock, storeBlocks } from "./blocks/store-blocks.query.js";
export { findLastSuccess } from "./debugging/last-success.js";
export {
  listSteps,
  maxMetadataText,
  readFailingPath,
  readPart,
  readStep,
  readSteps,
  summarizeTrace,
  type TraceSummary,
} from "./debugging/read-steps.query.js";
export { type FoundSpan, searchSpans } from "./debugging/search-spans.query.js";
export { type Excerpt, type StepTexts, stepSchema, textNames } from "./debugging/steps.js";
export { createTraceDeleter, createTracesDeleter } from "./delete-trace.query.js";
export { failingSpanSql } from "./failing-span.js";
export { type ClearFailure, createFailureClearer } from "./failures/group-failures.js";
export { failureTracesQuerySchema, listFailureTraces } from "./failures/list-failure-traces.query.js";
export {
  failureQuerySchema,
  failureSchema,
  failuresToList,
  listFailures,
  readTraceFailures,
} from "./failures/list-failures.query.js";
export { assignFailure, assignFailures, resolveFailure, resolveFailures } from "./failures/mark-failure.query.js";
export { readFailure } from "./failures/read-failure.query.js";
export { arrayLiteral, type Columns, columnArrays, rowSql, textOf, timestamp, unnestSql } from "./field-table.js";
export { findOtelTrace } from "./find-otel-trace.query.js";
export { findTraceName } from "./find-trace-name.query.js";
export { largeAnswerLimits } from "./get-large-trace.query.js";
export { createTraceReader, type TraceReader } from "./get-trace.query.js";
export { getUsage, readUsedTraces } from "./get-usage.query.js";
export { type KeyRefusal, keyStateSql } from "./idempotency-key.js";
export {
  droppedNameSchema,
  type KeepMode,
  type Kept,
  keepModes,
  listDropped,
  maxListedNames,
  readKeep,
  setKeep,
} from "./keep/keep.query.js";
export { dropNoise, readNoise } from "./keep/noise.query.js";
export { addListParts, type ListPartName, listPartsSchema } from "./labels/list-parts.query.js";
export {
  listSessions,
  listUsers,
  sessionQuerySchema,
  sessionSchema,
  sumsToList,
  userQuerySchema,
  userSchema,
} from "./labels/list-sessions.query.js";
export {
  oldestCursor,
  readSession,
  sessionSummarySchema,
  sessionTracesQuerySchema,
  turnSchema,
} from "./labels/read-session.query.js";
export { agentQuerySchema, agentSchema, agentsToList, listAgentNames, listAgents } from "./list-agents.query.js";
export {
  findTrace,
  findTraces,
  type ListedTrace,
  listTraces,
  maxExamineMs,
  newestCursor,
  presentListedTrace,
  type TraceCursor,
  type TracesToFind,
} from "./list-traces.query.js";
export {
  type MatchesTrace,
  presentTracePage,
  traceExportSchema,
  traceFilter,
  traceFilterSchema,
  traceQuerySchema,
  tracesToFind,
} from "./list-traces.schema.js";
export { readDearestTraces, readModelDays } from "./model-calls/read-costs.query.js";
export {
  daySumsSchema,
  daysQuerySchema,
  modelSumsSchema,
  modelUsageQuerySchema,
  modelUsageToRead,
  readModelUsage,
  readTraceUsage,
  readUsageTables,
  traceUsageSchema,
  type UsageTables,
  usageIntervals,
} from "./model-calls/read-model-usage.query.js";
export { readTokensByAgent } from "./model-calls/read-token-sums.query.js";
export { rebuildUsage } from "./model-calls/rebuild-usage.js";
export { countedCallsSql, listAccountsWithDueCalls, settleCalls, uuidOf } from "./model-calls/settle-calls.query.js";
export {
  maxUsageRows,
  sumUsage,
  sumUsageWithFigures,
  usageByQuerySchema,
  usageRowSchema,
  usageToSum,
} from "./model-calls/sum-usage.query.js";
export { includeParameter, maxCountedTraces } from "./paging.js";
export {
  type AgentFigures,
  type AgentTrace,
  maxDurations,
  readAgentDurations,
  readAgentFigures,
  readSlowest,
} from "./read-agent-figures.query.js";
export { maxChanges, readChanges } from "./read-changes.query.js";
export { readNotes } from "./read-notes.query.js";
export { type OutlinePage, type OutlineTrace, readLabels, readOutline } from "./read-outline.query.js";
export { readContent, readSpan, type SpanContents } from "./read-span.query.js";
export { readStream, type StreamPage, type StreamPosition } from "./read-stream.query.js";
export {
  bytesOfScore,
  createScoreAdder,
  newScoreSchema,
  requireStored,
} from "./scores/add-score.query.js";
export { deleteScore } from "./scores/delete-score.query.js";
export {
  agentScoresQuerySchema,
  agentScoresToRead,
  readAgentNotes,
  readAgentScores,
  readGivenScores,
  readTraceScores,
  scoreSummarySchema,
  traceScoreSchema,
} from "./scores/read-scores.query.js";
export { createTracePageReader, type TracePageReader } from "./search-traces.query.js";
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
  spanParts,
  storedAttributes,
} from "./span-fields.js";
export {
  type Instrumentation,
  instrumentations,
  type SpanKind,
  setStatusChangeSql,
  spanKinds,
  spanStatuses,
  statusTimeSql,
  type TraceStatus,
} from "./statuses.js";
export {
  type BytesUsed,
  byteLimit,
  byteValues,
  type CountedRequest,
  grantBytesSql,
  hasUsageLockSql,
  lockedUsageSql,
  refusalOfBytes,
  storedBytes,
  usedBytesSql,
} from "./stored-bytes.js";
export {
  type FinalTrace,
  finalTraceSchema,
  hasLabels,
  type Labels,
  labelNames,
  labelsSchema,
  maxLabel,
  maxScoresPerTrace,
  maxTags,
  type NewTrace,
  newTraceSchema,
  sizedTraceNames,
  textLabels,
  traceAnswers,
  traceColumns,
} from "./trace-fields.js";
export type { TraceToRead } from "./trace-json.js";
export { hashOfVisit } from "./visit.js";

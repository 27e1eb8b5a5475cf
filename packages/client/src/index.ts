export {
  type ApiClient,
  type CreateOptions,
  createApiClient,
  type NewScore,
  type StreamOptions,
} from "./api-client.js";
export type {
  Agent,
  AgentPage,
  AgentQuery,
  BatchSpan,
  ListedTrace,
  ModelSums,
  NewSpan,
  NewTrace,
  Span,
  SpanChange,
  SpanKind,
  SpanStatus,
  Trace,
  TraceChange,
  TraceLabels,
  TracePage,
  TracePart,
  TraceQuery,
  TraceStatus,
  TraceUsage,
  Usage,
} from "./api-types.js";
export { type Refusal, WaymarkApiError, WaymarkConnectionError, WaymarkError, WaymarkLossError } from "./errors.js";
export { type ObserveOptions, observe } from "./observe.js";
export type { Failure, ReadQuery, ScoreSummary, SeriesEntry, StreamEvent, TraceSums, Turn } from "./reads.js";
export type { RecorderOptions, RecorderStats } from "./recorder.js";
export type { Counts } from "./reports.js";
export type { RetryLimits } from "./retry.js";
export type { SpanFacts, TokenUsage } from "./span-attributes.js";
export {
  currentSpan,
  type EndOptions,
  type RunOptions,
  type SetOptions,
  type SpanHandle,
  type SpanOptions,
  type SpanParent,
} from "./span-handle.js";
export { type Call, type CallOptions, type ConnectionOptions, createTransport } from "./transport.js";
export {
  createWaymark,
  type EndStatus,
  type Labels,
  type TraceHandle,
  type TraceOptions,
  type Waymark,
  type WaymarkOptions,
} from "./waymark.js";

export { type ApiClient, type CreateOptions, createApiClient } from "./api-client.js";
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
export type { Counts } from "./losses.js";
export type { RecorderOptions, RecorderStats } from "./recorder.js";
export type { RetryLimits } from "./retry.js";
export type { EndOptions, RunOptions, SpanHandle, SpanOptions, SpanParent } from "./span-handle.js";
export type { CallOptions, ConnectionOptions } from "./transport.js";
export { createWaymark, type TraceHandle, type TraceOptions, type Waymark, type WaymarkOptions } from "./waymark.js";

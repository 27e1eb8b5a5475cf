export type TraceStatus = "running" | "success" | "error" | "timeout";

export type SpanStatus = "ok" | "error";

export const spanKinds = ["model", "agent", "tool", "retrieval", "evaluation", "chain", "other"] as const;
export type SpanKind = (typeof spanKinds)[number];

/** What a trace is found by. Texts have up to 200 characters. */
export interface TraceLabels {
  /** Your id of the conversation. */
  session_id?: string | null;
  user_id?: string | null;
  environment?: string | null;
  /** The version of your program. */
  release?: string | null;
  /** Up to 20 of 100 characters. */
  tags?: readonly string[] | null;
}

/** The body that creates a trace. Times are ISO 8601 with `Z` or an offset. */
export interface NewTrace extends TraceLabels {
  /** Your name for the agent, up to 255 characters; the agent is created on first use. */
  agent_id: string;
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at?: string | null;
  metadata?: Readonly<Record<string, unknown>> | null;
  /** The token of a visit, by the tracker's `waymark.visit()`. */
  visit?: string | null;
}

/** Omitted fields stay as they are; null clears a label. */
export interface TraceChange extends TraceLabels {
  status?: TraceStatus;
  ended_at?: string | null;
}

interface SpanFields {
  name: string;
  status: SpanStatus;
  started_at: string;
  ended_at: string | null;
  /** Any JSON; the service returns it unchanged. */
  input: unknown;
  output: unknown;
  error: string | null;
  parent_span_id: string | null;
}

/** Fields beyond those; answers have them where `include` names them. */
interface SpanExtensions extends SpanAttributes {
  /** What the step is of; without it the service reads it from the attributes, if they tell it. */
  kind?: SpanKind | null;
}

interface SpanAttributes {
  /** By OpenTelemetry's names, such as `gen_ai.usage.input_tokens`. */
  attributes?: Readonly<Record<string, unknown>> | null;
}

/** A span without `ended_at` is still running. */
export type NewSpan = Partial<SpanFields> & Pick<SpanFields, "name" | "status" | "started_at"> & SpanExtensions;

export type BatchSpan = NewSpan & {
  ref?: string;
  /** The `ref` of the parent, anywhere in the batch; excludes `parent_span_id`. */
  parent_ref?: string;
};

/** Closes or corrects a span. Omitted fields stay as they are, null clears; a null attribute is removed. */
export type SpanChange = Partial<Pick<SpanFields, "status" | "ended_at" | "output" | "error">> & SpanAttributes;

export interface Span extends SpanFields, SpanExtensions {
  id: string;
  /** Only with `include: "attributes"`, from OpenTelemetry: span id, kind, events, links, scope and resource. */
  otel?: Readonly<Record<string, unknown>>;
}

export type TracePart = "kind" | "attributes" | "usage" | "labels";

/** A trace with all its spans in the order of receipt; labels only with `include: "labels"`. */
export interface Trace extends TraceLabels {
  id: string;
  agent_id: string;
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at: string | null;
  metadata: Readonly<Record<string, unknown>> | null;
  spans: Span[];
  usage?: TraceUsage;
}

/** Tokens and cost of model calls; money is a decimal number of dollars, null without a price. */
export interface TraceUsage
  extends Pick<ModelSums, "input_tokens" | "output_tokens" | "cached_input_tokens" | "cost_usd"> {
  models: ModelSums[];
  unpriced_models: string[];
}

export interface ModelSums {
  provider: string | null;
  model: string | null;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens?: number;
  reasoning_tokens?: number;
  cost_usd: string | null;
}

export interface ListedTrace extends Omit<Trace, "metadata" | "spans" | "usage"> {
  /** Null without `ended_at`. */
  duration_ms: number | null;
  input_tokens?: number;
  output_tokens?: number;
  cost_usd?: string | null;
  preview?: string | null;
  models?: string[];
  scores?: { name: string; value: number | boolean | string }[];
}

/** Filters and paging; `from` is included, `to` is excluded. */
export interface TraceQuery {
  agent_id?: string;
  status?: TraceStatus | readonly TraceStatus[];
  /** A part of the name, in either case. */
  name?: string;
  /** Words, and phrases in quotes, in names, inputs, outputs and errors. */
  q?: string;
  session_id?: string;
  user_id?: string;
  environment?: string;
  release?: string;
  tag?: string;
  /** Parts to add to the entries: `labels`, `usage`, `preview`, `models`, `scores`, several with commas. */
  include?: string;
  from?: string | Date;
  to?: string | Date;
  /** Only ended traces that took at least this long. */
  min_duration_ms?: number;
  /** Only traces of at least this cost in dollars, a decimal number. */
  min_cost?: string;
  /** Traces per page, 1 to 200; default 50. */
  limit?: number;
  cursor?: string;
}

/** A page, newest first. Even a short or empty page may have a `next_cursor`. */
export interface TracePage {
  traces: ListedTrace[];
  next_cursor: string | null;
}

/** An agent, with counts of its traces in the range. */
export interface Agent {
  id: string;
  created_at: string;
  traces: Readonly<Record<TraceStatus, number>>;
  last_started_at: string | null;
  /** This and the percentiles with `include: "figures"` alone; null without ended traces. */
  failure_rate?: number | null;
  p50_ms?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}

/** The range of trace starts that the counts cover; default the last 30 days. */
export interface AgentQuery
  extends Pick<TraceQuery, "from" | "to" | "session_id" | "user_id" | "environment" | "release" | "tag"> {
  include?: "figures";
  /** Agents per page, 1 to 200; default 50. */
  limit?: number;
  cursor?: string;
}

export interface AgentPage {
  agents: Agent[];
  from: string;
  to: string;
  next_cursor: string | null;
}

/** The plan's limits and their use in this UTC month. */
export interface Usage {
  plan: string;
  month: string;
  traces: { limit: number; current: number; remaining: number; resets_at: string };
  /** Which traces of OpenTelemetry are kept. Absent, as `leave_out`, from answers of earlier releases. */
  keep?: "all" | "agents";
  /** Instrumentations whose spans are left out where those of agents are kept. */
  leave_out?: string[];
  /** Traces without an agent that the account did not keep. */
  dropped: { traces: number; since: string };
  /** Stored in the month. Absent from answers of earlier releases. */
  bytes?: { limit: number; current: number; remaining: number };
  /** `limit` is null if there is none. */
  agents: { limit: number | null; current: number };
  retention_days: number;
}

/** The states of a trace. */
export type TraceStatus = "running" | "success" | "error" | "timeout";

/** The states of a span; one without `ended_at` still runs. */
export type SpanStatus = "ok" | "error";

/** The body that creates a trace. Times are ISO 8601 with `Z` or an offset. */
export interface NewTrace {
  /** Your name for the agent, up to 255 characters; the agent is created on first use. */
  agent_id: string;
  /** Up to 1,000 characters. */
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at?: string | null;
  metadata?: Readonly<Record<string, unknown>> | null;
}

/** What finalizes a trace: only what is given changes. */
export interface TraceChange {
  status?: TraceStatus;
  ended_at?: string | null;
}

/** The body that adds a span. */
export interface NewSpan {
  name: string;
  status: SpanStatus;
  started_at: string;
  ended_at?: string | null;
  /** Any JSON; it comes back exactly as it was sent. */
  input?: unknown;
  output?: unknown;
  error?: string | null;
  parent_span_id?: string | null;
}

/** A span of a batch. */
export interface BatchSpan extends NewSpan {
  /** Your name for the span within its batch. */
  ref?: string;
  /** The `ref` of the span's parent, which may stand before or after it; not together with `parent_span_id`. */
  parent_ref?: string;
}

/** What closes or corrects a span: only what is given changes, null clears. */
export interface SpanChange {
  status?: SpanStatus;
  ended_at?: string | null;
  output?: unknown;
  error?: string | null;
}

/** A span as it is read. */
export interface Span {
  id: string;
  name: string;
  status: SpanStatus;
  started_at: string;
  ended_at: string | null;
  input: unknown;
  output: unknown;
  error: string | null;
  parent_span_id: string | null;
  /** What the span says beyond these fields; only with `include: "attributes"`. */
  attributes?: Readonly<Record<string, unknown>> | null;
  /** With the same, what else OpenTelemetry sent: span id, kind, events, links, scope and resource. */
  otel?: Readonly<Record<string, unknown>>;
}

/** A trace as it is read, with all its spans in the order in which they were received. */
export interface Trace {
  id: string;
  agent_id: string;
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at: string | null;
  metadata: Readonly<Record<string, unknown>> | null;
  spans: Span[];
}

/** A trace in a list. */
export interface ListedTrace {
  id: string;
  agent_id: string;
  name: string;
  status: TraceStatus;
  started_at: string;
  ended_at: string | null;
  /** Null while it runs. */
  duration_ms: number | null;
}

/** Which traces a list has. */
export interface TraceQuery {
  agent_id?: string;
  /** One or several. */
  status?: TraceStatus | readonly TraceStatus[];
  /** The name contains this, whatever the letter case. */
  name?: string;
  /** The earliest start, included. */
  from?: string | Date;
  /** The latest start, excluded. */
  to?: string | Date;
  /** Only traces that ended after at least so long. */
  min_duration_ms?: number;
  /** How many a page has, 1 to 200; 50 where not given. */
  limit?: number;
  /** The `next_cursor` of the page before. */
  cursor?: string;
}

/** A page of traces, newest first. It may have fewer than `limit`, or none, and yet a next one. */
export interface TracePage {
  traces: ListedTrace[];
  next_cursor: string | null;
}

/** An agent, and how many of its traces started in the time asked for. */
export interface Agent {
  id: string;
  created_at: string;
  traces: Readonly<Record<TraceStatus, number>>;
  last_started_at: string | null;
}

/** Which agents a list has, and of which time it counts their traces: of the last 30 days where not given. */
export interface AgentQuery {
  from?: string | Date;
  to?: string | Date;
  /** How many a page has, 1 to 200; 50 where not given. */
  limit?: number;
  cursor?: string;
}

/** A page of agents, by id. */
export interface AgentPage {
  agents: Agent[];
  from: string;
  to: string;
  next_cursor: string | null;
}

/** What the plan allows and what is used of it in this UTC month. */
export interface Usage {
  plan: string;
  /** Such as `2026-11`. */
  month: string;
  traces: { limit: number; current: number; remaining: number; resets_at: string };
  /** The limit is null where there is none. */
  agents: { limit: number | null; current: number };
  retention_days: number;
}

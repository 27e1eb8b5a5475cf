import type { AgentDurations, AgentFigures, AgentTrace, DayDurations } from "@waymark/traces";

export type { AgentDurations, AgentFigures, AgentTrace } from "@waymark/traces";

/** The answer of `GET /agents`. */
export interface AgentList {
  /** The first day and the day after the last, UTC. */
  from: string;
  to: string;
  /** Those with most failures first, at most 200. */
  agents: AgentFigures[];
}

/** The answer of `GET /agent-durations`. */
export interface DurationList {
  /** The latest traces of the account that count, at most. */
  maxTraces: number;
  agents: AgentDurations[];
}

/** An error's text without its digits, and how often it came. */
export interface ErrorGroup {
  text: string;
  count: number;
  /** The latest trace with it. */
  traceId: string;
}

/** The answer of `GET /agents/:id`. */
export interface AgentDetail {
  from: string;
  to: string;
  agent: AgentFigures;
  durations: AgentDurations | null;
  /** Of the days with ended traces, in order. */
  dayDurations: DayDurations[];
  slowest: AgentTrace[];
  failures: (AgentTrace & { error: string | null })[];
  /** Of the latest failures, {@link groupedFailures} of them. */
  errors: ErrorGroup[];
  groupedFailures: number;
}

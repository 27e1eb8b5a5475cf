import type { ListedTrace, ModelSums, TraceStatus } from "./api-types.js";
import type { Call, CallOptions, Transport } from "./transport.js";

/** Parameters by the API's names; lists become texts with commas. */
export type ReadQuery = Readonly<Record<string, string | number | boolean | Date | readonly string[] | undefined>>;

interface Page {
  next_cursor: string | null;
}

/** What went wrong in some traces. */
export interface Failure {
  id: string;
  agent_id: string;
  span_name: string | null;
  error: string | null;
  count: number;
  first_at: string;
  last_at: string;
  /** The trace that ended last. */
  trace_id: string;
  muted_until: string | null;
}

interface Sums {
  input_tokens: number;
  output_tokens: number;
  /** A decimal number of dollars; null without a price. */
  cost_usd: string | null;
}

interface Tokens extends Sums {
  cached_input_tokens: number;
}

interface Range {
  from: string;
  to: string;
}

interface Summary extends Sums {
  id: string;
  /** Traces with `error` or `timeout`. */
  failures: number;
  first_at: string;
  last_at: string;
}

/** The traces of a conversation or a user together. */
export interface TraceSums extends Summary {
  traces: number;
}

/** A trace of a conversation, with the first input and the last output as texts. */
export interface Turn extends Omit<ListedTrace, keyof Sums>, Sums {
  input: string | null;
  output: string | null;
}

export interface SeriesEntry extends Tokens, Readonly<Record<TraceStatus, number>> {
  at: string;
  traces: number;
  failure_rate: number | null;
  p50_ms: number | null;
  p90_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
}

export interface ScoreSummary {
  name: string;
  count: number;
  /** Of them those of people in the dashboard. */
  given_by_hand: number;
  /** Of numbers, and the share of true. */
  mean?: number;
  /** The most frequent texts, or true and false. */
  values?: { value: boolean | string; count: number }[];
}

/** The answer of each reading call. */
interface Answers {
  readAgentSeries: Range & { agent_id: string; interval: string; series: SeriesEntry[] };
  readAgentScores: { scores: ScoreSummary[] };
  listFailures: Page & { failures: Failure[] };
  listSessions: Page & { sessions: (TraceSums & { user_id: string | null })[] };
  readSession: Page & Summary & { user_id: string | null; traces: Turn[] };
  listUsers: Page & { users: (TraceSums & { sessions: number })[] };
  readModelUsage: Range & { models: ModelSums[]; series: (Tokens & { day: string })[] };
  sumUsage: Range & {
    dimension: string;
    rows: (Tokens & { value: string | null; traces: number; failures: number })[];
  };
  listDropped: { month: string; rows: { name: string | null; traces: number }[] };
}

/** Calls by the operation of the API's document, with the path of each. */
const paths = {
  readAgentSeries: "/agents/{}/series",
  readAgentScores: "/agents/{}/scores",
  listFailures: "/failures",
  listSessions: "/sessions",
  readSession: "/sessions/{}",
  listUsers: "/users",
  readModelUsage: "/usage/models",
  sumUsage: "/usage/by",
  listDropped: "/usage/dropped",
} as const satisfies Readonly<Record<keyof Answers, string>>;

type Reads = {
  [Name in keyof Answers]: (typeof paths)[Name] extends `${string}{}${string}`
    ? (id: string, query?: ReadQuery, options?: CallOptions) => Promise<Answers[Name]>
    : (query?: ReadQuery, options?: CallOptions) => Promise<Answers[Name]>;
};

/** The reading calls beside those of traces and agents. */
export interface ReadingCalls extends Reads {}

export function createReads(transport: Transport): ReadingCalls {
  const calls = Object.entries(paths).map(([name, path]) => {
    const read = (query?: ReadQuery, options?: CallOptions, id = "") => {
      const call: Call = { ...options, method: "GET", path: path.replace("{}", encodeURIComponent(id)) };
      return transport({ ...call, query: toParameters(query) });
    };
    const withId = (id: string, query?: ReadQuery, options?: CallOptions) => read(query, options, id);
    return [name, path.includes("{}") ? withId : read];
  });
  return Object.fromEntries(calls) as ReadingCalls;
}

export function toParameters(values: object = {}): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return parameters;
}

/** A change of the account's traces. */
export interface StreamEvent {
  /** To go on after it: `lastEventId`. */
  id: string;
  /** `trace`, or `reset` where changes since the last event are missing. */
  event: string;
  trace: ListedTrace | undefined;
}

/** Of one event. */
const maxEventLength = 4_194_304;

/** The events of a stream (HTML, "Server-sent events"), each with one line of data. @throws Error for an endless line */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent, void, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let [rest, id, event, data] = ["", "", "", ""];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > maxEventLength) throw new Error("The stream has too long a line");
      for (const line of lines) {
        const [, name, value = ""] = /^(\w*): ?(.*)$/.exec(line) ?? [];
        if (name === "id") id = value;
        else if (name === "event") event = value;
        else if (name === "data") data = value;
        if (line !== "") continue;
        if (data !== "") yield { id, event, trace: event === "trace" ? (JSON.parse(data) as ListedTrace) : undefined };
        [event, data] = ["", ""];
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The states of a trace (trace contract, "States and transitions"). */
export const traceStatuses = ["running", "success", "error", "timeout"] as const;

export type TraceStatus = (typeof traceStatuses)[number];

/** The states of a span (trace contract, "States and transitions"). */
export const spanStatuses = ["ok", "error"] as const;

/** What a span is of: a model call, a run of an agent, a tool, a search for knowledge, a judgement, or steps held together. */
export const spanKinds = ["model", "agent", "tool", "retrieval", "evaluation", "chain", "other"] as const;
export type SpanKind = (typeof spanKinds)[number];

export type AgentKind = Exclude<SpanKind, "other">;

/** The kinds that programs with agents have; a span of another program, or of an unknown kind, is `other`. */
export const agentKinds = spanKinds.filter((kind): kind is AgentKind => kind !== "other");

/** What an account may leave out below its agents, by what a library observes. */
export const instrumentations = ["http", "fs", "net", "dns", "database"] as const;
export type Instrumentation = (typeof instrumentations)[number];

/**
 * Notes the transaction of a status other than before, for the stream, and its time, in an UPDATE of `trace t` by `c`. Another
 * write of an ended trace keeps the time.
 */
export const setStatusChangeSql = `status_txid = CASE WHEN c.status <> t.status THEN txid_current() ELSE t.status_txid END,
      status_at = CASE WHEN c.status <> t.status THEN now() WHEN t.status <> 'running' THEN COALESCE(t.status_at, t.written_at) END`;

/** The time of an ended trace's status. Null in the row until its first change after the end: that of the last write. */
export const statusTimeSql = "COALESCE(status_at, written_at)";

/** The states of a trace (trace contract, "States and transitions"). */
export const traceStatuses = ["running", "success", "error", "timeout"] as const;

export type TraceStatus = (typeof traceStatuses)[number];

/** The states of a span (trace contract, "States and transitions"). */
export const spanStatuses = ["ok", "error"] as const;

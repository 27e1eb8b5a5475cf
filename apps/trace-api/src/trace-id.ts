import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";

/** The path parameter of every route below a trace. */
export const traceIdParameter = { trace_id: "The id of the trace" } as const;

/**
 * The trace's id in lower case.
 * @throws AppError 404 where it is no UUID: no trace has such an id
 */
export function traceIdOf(params: Readonly<Record<string, string>>): string {
  const traceId = (params["trace_id"] ?? "").toLowerCase();
  if (!isUuid(traceId)) throw new AppError("trace_not_found");
  return traceId;
}

import { csvType } from "@waymark/web-stats/statistics";
import type { Request } from "express";

/** With parameters too, since a type with parameters in `Accept` matches no type without them (RFC 9110, 12.5.1). */
const offeredTypes = [
  "application/json",
  "application/json; charset=utf-8",
  "text/csv",
  "text/csv; charset=utf-8",
  csvType,
];

/** Whether the client prefers CSV. A client accepting neither gets JSON, as the contract promises. */
export function prefersCsv(request: Request): boolean {
  const type = request.accepts(offeredTypes);
  return type !== false && type.startsWith("text/csv");
}

import { csvType } from "@waymark/statistics";
import type { Request } from "express";

/** With parameters too, since a type in `Accept` that has some matches no type without them (RFC 9110, 12.5.1). */
const offeredTypes = [
  "application/json",
  "application/json; charset=utf-8",
  "text/csv",
  "text/csv; charset=utf-8",
  csvType,
];

/** Whether a client would rather have CSV. Whoever accepts neither gets JSON, which the contract promises to all. */
export function prefersCsv(request: Request): boolean {
  const type = request.accepts(offeredTypes);
  return type !== false && type.startsWith("text/csv");
}

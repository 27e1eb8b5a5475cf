import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";

/** @throws AppError 404: a malformed id names no trace */
export function traceIdOf({ id = "" }: Readonly<Record<string, string>>): string {
  if (!isUuid(id)) throw new AppError("trace_not_found");
  return id;
}

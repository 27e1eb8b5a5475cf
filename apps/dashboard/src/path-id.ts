import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";

/** An id of a path. @throws AppError 404: other text names nothing */
export function idOf(text = "", code: "not_found" | "trace_not_found" = "not_found"): string {
  if (!isUuid(text)) throw new AppError(code);
  return text;
}

import { validationError } from "@waymark/errors";
import type { AskedRange } from "./range.js";

/** SQLSTATE `query_canceled`: the pool's statement timeout (Postgres documentation, appendix A). */
const timeoutCode = "57014";

/**
 * Waits for a read of the asked days. When the client chose the days and they hold too much for the statement timeout, the
 * answer is a 400: a 503 would invite the client to try the same again.
 * @throws AppError 400 for days of the client's choice, otherwise the read's own error
 */
export async function readInTime<Result>(asked: AskedRange, reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    const isTimeout = error instanceof Error && "code" in error && error.code === timeoutCode;
    if (!isTimeout || asked.range !== "custom") throw error;
    throw validationError({ to: "These days could not be added up in time; ask for fewer" }, error);
  }
}

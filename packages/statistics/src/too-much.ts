import { validationError } from "@waymark/errors";
import type { AskedRange } from "./range.js";

/** SQLSTATE `query_canceled`: the statement timeout of the pool (Postgres documentation, appendix A). */
const timeoutCode = "57014";

/**
 * Waits for what reads the asked days. Where they are the client's own choice, running out of time is a 400 that says what
 * helps: the 503 it would be otherwise invites to try the same again.
 * @throws AppError 400 when days between `from` and `to` hold too much for the statement timeout
 */
export async function readInTime<Rows>(asked: AskedRange, reading: Promise<Rows>): Promise<Rows> {
  try {
    return await reading;
  } catch (error) {
    const isTimeout = error instanceof Error && "code" in error && error.code === timeoutCode;
    if (!isTimeout || asked.range !== "custom") throw error;
    throw validationError({ to: "These days could not be added up in time; ask for fewer" }, error);
  }
}

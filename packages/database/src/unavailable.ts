import { isNativeError } from "node:util/types";

const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
]);

/** What `pg` says, without a code, when a connection ends or none comes in time. */
const driverMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|Cannot use a pool after calling end)/;

/**
 * Whether an error says that the database cannot be reached or takes no work now, so that trying again later is right.
 * SQLSTATE classes 08 (connection), 53 (resources), 57P (operator intervention), 25006 (read-only: a standby during
 * failover), 55P03 and 57014 (lock and statement timeouts); Postgres documentation, appendix A.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown; cause?: unknown };
  if (typeof code === "string") {
    if (networkCodes.has(code)) return true;
    if (/^(08...|53...|57P..|25006|55P03|57014)$/.test(code)) return true;
  }
  // Node tries every address of a host and then throws one AggregateError.
  if (Array.isArray(errors)) return errors.some(isDatabaseUnavailable);
  return driverMessages.test(error.message) || (cause !== undefined && isDatabaseUnavailable(cause));
}

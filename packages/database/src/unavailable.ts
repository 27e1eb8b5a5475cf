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

/** Messages of `pg`, without a code, for connections ending early or not opening in time. */
const driverMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|Cannot use a pool after calling end)/;

/** Whether a change was refused because its account moves to another cell (function `refuse_moving`); others take place. */
export function isMoving(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "WM001";
}

/**
 * Whether the database cannot be reached or takes no work now, so a later attempt may succeed: a move, and SQLSTATE classes 08
 * (connection), 53 (resources), 57P (operator intervention), 25006 (read-only: a standby during failover), 55P03 and 57014 (lock
 * and statement timeouts); Postgres documentation, appendix A.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown; cause?: unknown };
  if (typeof code === "string") {
    if (networkCodes.has(code)) return true;
    if (/^(08...|53...|57P..|25006|55P03|57014|WM001)$/.test(code)) return true;
  }
  // Node throws one AggregateError for all addresses of a host.
  if (Array.isArray(errors)) return errors.some(isDatabaseUnavailable);
  return driverMessages.test(error.message) || (cause !== undefined && isDatabaseUnavailable(cause));
}

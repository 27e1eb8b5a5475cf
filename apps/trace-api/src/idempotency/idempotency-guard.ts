import { AppError } from "@waymark/errors";
import type { IdempotencyKey } from "@waymark/service/http";
import type { KeyRefusal } from "@waymark/traces";

/** A client may soon repeat a request in progress: statements take milliseconds. */
const retryAfterSeconds = 1;

/** Runs a request's work. With an idempotency key, only one request of the account and key runs at a time. */
export type IdempotencyGuard = <Result extends { outcome: string }>(
  accountId: string,
  idempotency: IdempotencyKey | undefined,
  run: () => Promise<Result | KeyRefusal>,
) => Promise<Result>;

/**
 * Guards the keys of requests in progress in this process. Between processes the key's state in the database decides.
 * @returns a guard; it throws AppError 409 while the key's request is in progress, and 422 for the key of another request
 */
export function createIdempotencyGuard(): IdempotencyGuard {
  const inProgress = new Set<string>();
  return (accountId, idempotency, run) =>
    idempotency ? guard(`${accountId} ${idempotency.key}`, run) : run().then(accept);

  async function guard<Result extends { outcome: string }>(name: string, run: () => Promise<Result | KeyRefusal>) {
    if (inProgress.has(name)) throw requestInProgress();
    inProgress.add(name);
    try {
      return accept(await run());
    } catch (error) {
      throw isKeyConflict(error) ? requestInProgress(error) : error;
    } finally {
      inProgress.delete(name);
    }
  }
}

function accept<Result extends { outcome: string }>(result: Result | KeyRefusal): Result {
  if (result.outcome === "key_reused") throw new AppError("idempotency_key_reused");
  if (result.outcome === "key_in_use") throw requestInProgress();
  return result as Result;
}

function requestInProgress(cause?: unknown): AppError {
  return new AppError("request_in_progress", { headers: { "Retry-After": String(retryAfterSeconds) }, cause });
}

/** Whether another transaction stored the key after this statement's snapshot. */
function isKeyConflict(error: unknown): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === "idempotency_key_pkey";
}

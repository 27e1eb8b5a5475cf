import { AppError } from "@waymark/errors";
import type { IdempotencyKey } from "@waymark/http";

/** Seconds after which a client may ask what became of the request in progress: statements take milliseconds. */
const retryAfterSeconds = 1;

/** Why a request with an idempotency key was not stored. */
export type KeyRefusal = { outcome: "key_reused" | "key_in_use" };

/**
 * The state of the key of a row `r` that a statement joined to `idempotency_key k`: `replayed` and `key_reused` where the
 * same or another request is stored with it, `key_in_use` where another transaction holds it, else `new`, and then this
 * transaction holds it to its end. A key that was stored after the statement's snapshot looks new; storing it again then
 * violates `idempotency_key_pkey`, so that the statement does nothing. To be evaluated once for a row.
 */
export const keyStateSql = `CASE
    WHEN k.request_hash = r.request_hash THEN 'replayed'
    WHEN k.request_hash IS NOT NULL THEN 'key_reused'
    WHEN pg_try_advisory_xact_lock(hashtextextended(r.account_id || r.key, 0)) THEN 'new'
    ELSE 'key_in_use'
  END`;

/** Runs a request's work, and with an idempotency key so that of equal keys one is in hand at a time. */
export type Once = <Result extends { outcome: string }>(
  accountId: string,
  idempotency: IdempotencyKey | undefined,
  run: () => Promise<Result | KeyRefusal>,
) => Promise<Result>;

/**
 * Keeps the keys whose requests this process has in hand; other processes are told by the state in the database.
 * @returns a function that throws AppError 409 where the key's request is in progress, 422 where it was another request
 */
export function createOnce(): Once {
  const inHand = new Set<string>();
  return async (accountId, idempotency, run) => {
    if (!idempotency) return accept(await run());
    const name = `${accountId} ${idempotency.key}`;
    if (inHand.has(name)) throw inProgress();
    inHand.add(name);
    try {
      return accept(await run());
    } catch (error) {
      throw isKeyConflict(error) ? inProgress(error) : error;
    } finally {
      inHand.delete(name);
    }
  };
}

function accept<Result extends { outcome: string }>(result: Result | KeyRefusal): Result {
  if (result.outcome === "key_reused") throw new AppError("idempotency_key_reused");
  if (result.outcome === "key_in_use") throw inProgress();
  return result as Result;
}

function inProgress(cause?: unknown): AppError {
  return new AppError("request_in_progress", { headers: { "Retry-After": String(retryAfterSeconds) }, cause });
}

/** Whether another transaction stored the key between a statement's snapshot and its own attempt. */
function isKeyConflict(error: unknown): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === "idempotency_key_pkey";
}

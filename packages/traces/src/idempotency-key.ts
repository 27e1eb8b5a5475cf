/** Why a request with an idempotency key was not stored. */
export type KeyRefusal = { outcome: "key_reused" | "key_in_use" };

/**
 * The state of the key of a row `r` in a statement that joins `idempotency_key k`; evaluate it once per row.
 * - `replayed`: the same request is stored with the key; `key_reused`: another request is.
 * - `key_in_use`: another transaction holds the key. `new`: this transaction holds it from now on.
 * The lookup is one probe of `idempotency_key_pkey`. A key stored after the statement's snapshot looks new; storing it
 * again violates `idempotency_key_pkey`, so the statement does nothing.
 */
export const keyStateSql = `CASE
    WHEN k.request_hash = r.request_hash THEN 'replayed'
    WHEN k.request_hash IS NOT NULL THEN 'key_reused'
    WHEN pg_try_advisory_xact_lock(hashtextextended(r.account_id || r.key, 0)) THEN 'new'
    ELSE 'key_in_use'
  END`;

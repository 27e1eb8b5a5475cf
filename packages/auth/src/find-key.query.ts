import type { PlanId } from "@waymark/plan";
import type pg from "pg";
import type { KeyService } from "./api-key.js";

/** Who a request acts for. */
export interface Principal {
  readonly accountId: string;
  readonly keyId: string;
  readonly plan: PlanId;
}

/**
 * The live key with a hash, with its account's plan as of now. One probe of the unique index on `hash` and one of
 * `account`'s primary key; a revoked key or one of another service is not found.
 */
const findKeySql = `
  SELECT k.id AS "keyId", k.account_id AS "accountId", a.plan
  FROM api_key k JOIN account a ON a.id = k.account_id
  WHERE k.hash = $1 AND k.service = $2 AND k.revoked_at IS NULL`;

/** Looks a key up by its hash. */
export async function findKey(pool: pg.Pool, hash: Buffer, service: KeyService): Promise<Principal | undefined> {
  const { rows } = await pool.query<Principal>({ name: "find-key", text: findKeySql, values: [hash, service] });
  return rows[0];
}

/**
 * Notes when keys were used last, never earlier than noted already and never after a revocation: a use that was under way
 * when the key was revoked counts as one at that moment. A probe of `api_key_pkey` per key. Fires no change notification,
 * since the trigger looks at other columns.
 */
const markKeysUsedSql = `
  UPDATE api_key AS k SET last_used_at = LEAST(u.at, k.revoked_at)
  FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
  WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < LEAST(u.at, k.revoked_at))`;

/** @param uses when each key was used last, in milliseconds since 1970, by key id */
export async function markKeysUsed(pool: pg.Pool, uses: ReadonlyMap<string, number>): Promise<void> {
  const times = Array.from(uses.values(), (millis) => new Date(millis).toISOString());
  await pool.query(markKeysUsedSql, [[...uses.keys()], times]);
}

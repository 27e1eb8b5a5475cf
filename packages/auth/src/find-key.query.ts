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

/** Notes that keys were used; fires no change notification, since the trigger looks at other columns. */
export async function markKeysUsed(pool: pg.Pool, keyIds: readonly string[], at: Date): Promise<void> {
  await pool.query("UPDATE api_key SET last_used_at = $2 WHERE id = ANY($1::uuid[])", [keyIds, at]);
}

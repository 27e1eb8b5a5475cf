import type { PlanId } from "@waymark/plan";
import type pg from "pg";
import type { KeyKind, KeyScope } from "./api-key.js";

export interface Principal {
  readonly accountId: string;
  readonly keyId: string;
  readonly plan: PlanId;
  /** Keys of the analytics API have `all`: that API only reads. */
  readonly scope: KeyScope;
  /** Set where the account keeps traces of agents alone. */
  readonly keep?: "agents";
  /** Then the instrumentations whose spans it leaves out. */
  readonly leaveOut?: readonly string[];
  /** The only site of a shared key, or of a shared link. */
  readonly siteId?: string;
  /** The only trace of a shared link. */
  readonly traceId?: string;
  /** The hash of a shared link's password. */
  readonly password?: string;
  /** The origins of the pages that may frame a shared link. */
  readonly frameOrigins?: readonly string[];
  /** Of an account on its way from or to another cell. */
  readonly move?: "moving" | "moved" | "finishing" | "undoing" | "arriving";
}

export interface FoundKey {
  readonly principal: Principal;
  /** In milliseconds since 1970; infinite without an end. The caller compares it, so an end needs no second look-up. */
  readonly endsAt: number;
}

/** The stored services of the keys of a kind. A shared key is stored apart, so older releases refuse it. */
const storedServices = { trace: ["trace"], analytics: ["analytics", "share"], link: ["link"] } satisfies Record<
  KeyKind,
  string[]
>;

/**
 * Finds the key with a hash and its account's present plan. Revoked keys and keys of another service are not found. One
 * probe of `api_key_hash_key`, one of `account_pkey`, one of `slot_move_pkey`.
 */
const findKeySql = `
  SELECT k.id AS "keyId", k.account_id AS "accountId", a.plan, a.keep, a.leave_out AS "leaveOut", k.scope, k.site_id AS "siteId", k.trace_id AS "traceId", k.password, k.frame_origins AS "frameOrigins",
    k.expires_at AS "expiresAt", v.phase AS move
  FROM api_key k JOIN account a ON a.id = k.account_id LEFT JOIN slot_move v ON v.slot = a.slot
  WHERE k.hash = $1 AND k.service = ANY ($2) AND k.revoked_at IS NULL`;

type Row = Pick<Principal, "accountId" | "keyId" | "plan" | "scope"> & {
  keep: string;
  leaveOut: string[];
  siteId: string | null;
  traceId: string | null;
  password: string | null;
  frameOrigins: string[];
  expiresAt: Date | null;
  move: Principal["move"] | null;
};

export async function findKey(pool: pg.Pool, hash: Buffer, service: KeyKind): Promise<FoundKey | undefined> {
  const values = [hash, storedServices[service]];
  const { rows } = await pool.query<Row>({ name: "find-key", text: findKeySql, values });
  if (!rows[0]) return undefined;
  const { keep, leaveOut, siteId, traceId, password, frameOrigins, expiresAt, move, ...principal } = rows[0];
  const endsAt = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  const kept = keep === "agents" && { keep, ...(leaveOut.length > 0 && { leaveOut }) };
  const bounds = { ...(siteId !== null && { siteId }), ...(traceId !== null && { traceId }) };
  const link = { ...(password !== null && { password }), ...(frameOrigins.length > 0 && { frameOrigins }) };
  return { principal: { ...principal, ...kept, ...bounds, ...link, ...(move && { move }) } as Principal, endsAt };
}

/**
 * Moves `last_used_at` of keys forward, never past their revocation: a request under way then counts as a use at that moment.
 * One probe of `api_key_pkey` per key. No notification follows, since the trigger looks at other columns.
 */
const markKeysUsedSql = `
  UPDATE api_key AS k SET last_used_at = LEAST(u.at, k.revoked_at)
  FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
  WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < LEAST(u.at, k.revoked_at))`;

/** @param uses the last use of each key, in milliseconds since 1970, by key id */
export async function markKeysUsed(pool: pg.Pool, uses: ReadonlyMap<string, number>): Promise<void> {
  const times = Array.from(uses.values(), (millis) => new Date(millis).toISOString());
  await pool.query(markKeysUsedSql, [[...uses.keys()], times]);
}

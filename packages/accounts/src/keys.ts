import { createApiKey, type KeyService } from "@waymark/auth";
import { createUuidV7, isUuid } from "@waymark/database";
import type pg from "pg";
import { AccountError } from "./account-error.js";
import { lockAccount, requireAccount } from "./lock-account.query.js";
import { readName } from "./name.js";
import { isLiveKeySql, keyServiceSql } from "./stored-key.js";

/** A new key. Only this answer has `key`: the database stores its hash. */
export interface IssuedKey {
  id: string;
  service: KeyService;
  name: string;
  key: string;
}

export interface ListedKey {
  id: string;
  service: string;
  name: string;
  hint: string;
  created_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
  /** The only site of a shared key, and its domain. */
  site_id: string | null;
  site: string | null;
  expires_at: string | null;
}

/** A key of the account; an operator names no account. */
export interface KeyReference {
  keyId: string;
  accountId?: string;
}

/** The bounds of a shared key. */
interface Share {
  siteId: string;
  expiresAt: Date | null;
}

type Database = Pick<pg.ClientBase, "query">;

/** Not counting revoked and ended ones. */
export const maxKeysPerAccount = 100;

const uuid = createUuidV7();

/** A range of `api_key_account_id_idx`. */
const countKeysSql = `SELECT count(*)::int AS keys FROM api_key WHERE account_id = $1 AND ${isLiveKeySql}`;

const insertKeySql = `INSERT INTO api_key (id, account_id, service, name, hash, hint, created_by, site_id, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/**
 * Makes a key and stores its SHA-256. In a transaction the limit is exact, since the account's row stays locked.
 * @throws AccountError `unknown_account`, `invalid_name`, `too_many_keys`
 */
export async function issueKey(
  database: Database,
  input: { accountId: string; service: KeyService; name: string; createdBy?: string; share?: Share },
): Promise<IssuedKey> {
  const { accountId, service, createdBy = null, share } = input;
  const name = readName(input.name, "key");
  const { slot } = await lockAccount(database, accountId);
  const { rows } = await database.query<{ keys: number }>(countKeysSql, [accountId]);
  if ((rows[0]?.keys ?? 0) >= maxKeysPerAccount) {
    const message = `An account has at most ${maxKeysPerAccount} keys. Revoke one that is not used.`;
    throw new AccountError("too_many_keys", message);
  }
  const { key, hash, hint } = createApiKey(service, slot);
  const id = uuid();
  const stored = [id, accountId, share ? "share" : service, name, hash, hint, createdBy];
  await database.query(insertKeySql, [...stored, share?.siteId ?? null, share?.expiresAt ?? null]);
  return { id, service, name, key };
}

/** With a probe of `site_pkey` for a shared key. */
const listedSql = `id, ${keyServiceSql} AS service, name, hint, created_at, last_used_at, revoked_at, site_id, expires_at,
  (SELECT domain FROM site WHERE site.id = api_key.site_id) AS site`;

/** A range of `api_key_account_id_idx`. */
const listKeysSql = `SELECT ${listedSql} FROM api_key WHERE account_id = $1 ORDER BY id`;

/** The account's keys with the revoked ones, oldest first. @throws AccountError `unknown_account` */
export async function listKeys(database: Database, accountId: string): Promise<ListedKey[]> {
  await requireAccount(database, accountId);
  const { rows } = await database.query<StoredKey>(listKeysSql, [accountId]);
  return rows.map(present);
}

/** @throws AccountError `unknown_key` (also for another account's key), `invalid_name` */
export async function renameKey(
  database: Database,
  { name: newName, ...reference }: KeyReference & { name: string },
): Promise<ListedKey> {
  const name = readName(newName, "key");
  return present(await changeKey(database, reference, "UPDATE api_key SET name = $3", name));
}

/** Services refuse the key within a second. A second call returns the first one's time. @throws AccountError `unknown_key` */
export async function revokeKey(
  database: Database,
  reference: KeyReference,
): Promise<{ id: string; name: string; hint: string; revoked_at: string }> {
  const change = "UPDATE api_key SET revoked_at = COALESCE(revoked_at, $3)";
  const { id, name, hint, revoked_at } = await changeKey(database, reference, change, new Date());
  return { id, name, hint, revoked_at: (revoked_at ?? new Date()).toISOString() };
}

/** A range of `api_key_account_id_idx`. */
const revokeKeysOfSql = `UPDATE api_key SET revoked_at = now()
  WHERE account_id = $1 AND created_by = $2 AND ${isLiveKeySql} RETURNING name, hint`;

/** Revokes the live keys that a person made for the account. */
export async function revokeKeysOf(
  database: Database,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<{ name: string; hint: string }[]> {
  const { rows } = await database.query<{ name: string; hint: string }>(revokeKeysOfSql, [accountId, personId]);
  return rows;
}

type Moments = "created_at" | "last_used_at" | "revoked_at" | "expires_at";

type StoredKey = Omit<ListedKey, Moments> & { created_at: Date } & Record<Exclude<Moments, "created_at">, Date | null>;

/** One probe of `api_key_pkey`. */
async function changeKey(
  database: Database,
  { keyId, accountId }: KeyReference,
  change: string,
  value: unknown,
): Promise<StoredKey> {
  const sql = `${change} WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2) RETURNING ${listedSql}`;
  const { rows } = isUuid(keyId)
    ? await database.query<StoredKey>(sql, [keyId, accountId ?? null, value])
    : { rows: [] };
  const [key] = rows;
  if (!key) throw new AccountError("unknown_key", `There is no key '${keyId}'.`);
  return key;
}

function present(key: StoredKey): ListedKey {
  return {
    id: key.id,
    service: key.service,
    name: key.name,
    hint: key.hint,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
    site_id: key.site_id,
    site: key.site,
    expires_at: key.expires_at?.toISOString() ?? null,
  };
}

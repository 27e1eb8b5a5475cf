import { createApiKey, type KeyKind, type KeyScope, type KeyService } from "@waymark/auth";
import { createUuidV7, isUuid, type Queryable, textTimes } from "@waymark/database";
import type pg from "pg";
import { AccountError, lockAccount, readName, requireAccount } from "./accounts.js";

interface KeyRow {
  id: string;
  service: string;
  /** Null for the analytics API. */
  scope: KeyScope | null;
  name: string;
  hint: string;
  created_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
  /** The only site of a shared key, and its domain. */
  site_id: string | null;
  site: string | null;
  expires_at: Date | null;
}

/** A key of the account; an operator names no account. */
export interface KeyReference {
  keyId: string;
  accountId?: string;
}

/** What a shared key or link opens, and until when. */
interface Share {
  siteId?: string | undefined;
  traceId?: string | undefined;
  expiresAt: Date | null;
  /** Of a link, hashed. */
  password?: string | undefined;
  /** Of a link: the origins of the pages that may frame it. */
  frameOrigins?: readonly string[] | undefined;
}

/** Not counting revoked and ended ones. */
export const maxKeysPerAccount = 100;
export const maxLinksPerAccount = 100;

const uuid = createUuidV7();

/** What a stored key opens: a shared key opens the analytics API, a link a page. */
const keyServiceSql = "CASE service WHEN 'share' THEN 'analytics' ELSE service END";

/** What a key may do. Keys of the analytics API only read, and have none. */
const keyScopeSql = "CASE service WHEN 'trace' THEN scope END";

export const isLiveKeySql = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())";

interface NewKey<Kind extends KeyKind> {
  accountId: string;
  service: Kind;
  name: string;
  /** Of a key of the trace API; all by default. */
  scope?: KeyScope | undefined;
  createdBy?: string;
  share?: Share;
}

const insertKeySql = `INSERT INTO api_key (id, account_id, service, name, hash, hint, created_by, scope, site_id,
  expires_at, trace_id, password, frame_origins) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

/**
 * Makes a key and stores its SHA-256; only this answer has the key. In a transaction the limit is exact, since the account's row stays locked.
 * @throws AccountError `unknown_account`, `invalid_name`, `invalid_scope`, `too_many_keys`
 */
export async function issueKey<Kind extends KeyKind>(database: Queryable, input: NewKey<Kind>) {
  const { accountId, service, scope = "all", createdBy = null, share } = input;
  if (service !== "trace" && scope !== "all") {
    throw new AccountError("invalid_scope", "Only keys of the trace API have a scope.");
  }
  const name = readName(input.name, "key");
  const { slot } = await lockAccount(database, accountId);
  await requireRoom(database, accountId, service === "link");
  const { key, hash, hint } = createApiKey(service, slot);
  const id = uuid();
  const stored = [id, accountId, share && service !== "link" ? "share" : service, name, hash, hint, createdBy, scope];
  const bounds = [share?.siteId, share?.expiresAt, share?.traceId, share?.password].map((value) => value ?? null);
  await database.query(insertKeySql, [...stored, ...bounds, share?.frameOrigins ?? []]);
  return { id, service, ...(service === "trace" && { scope }), name, key };
}

async function requireRoom(database: Queryable, accountId: string, isLink: boolean): Promise<void> {
  const limit = isLink ? maxLinksPerAccount : maxKeysPerAccount;
  const sql = `SELECT FROM api_key WHERE account_id = $1 AND (service = 'link') = $2 AND ${isLiveKeySql}`;
  const { rowCount } = await database.query(sql, [accountId, isLink]);
  if ((rowCount ?? 0) < limit) return;
  const things = isLink ? "shared links" : "keys";
  throw new AccountError("too_many_keys", `An account has at most ${limit} ${things}. Revoke one that is not used.`, {
    limit,
  });
}

/** With a probe of `site_pkey` for a shared key. */
const listedSql = `id, ${keyServiceSql} AS service, ${keyScopeSql} AS scope, name, hint, created_at, last_used_at, revoked_at, site_id,
  (SELECT domain FROM site WHERE site.id = api_key.site_id) AS site, expires_at`;

/** The account's keys with the revoked ones, oldest first. @throws AccountError `unknown_account` */
export async function listKeys(database: Queryable, accountId: string) {
  await requireAccount(database, accountId);
  const sql = `SELECT ${listedSql} FROM api_key WHERE account_id = $1 ORDER BY id`;
  const { rows } = await database.query<KeyRow>(sql, [accountId]);
  return rows.map(textTimes);
}

/** @throws AccountError `unknown_key` (also for another account's key), `invalid_name` */
export async function renameKey(database: Queryable, { name, ...reference }: KeyReference & { name: string }) {
  return textTimes(await changeKey(database, reference, "UPDATE api_key SET name = $3", readName(name, "key")));
}

/** Services refuse the key within a second. A second call returns the first one's time. @throws AccountError `unknown_key` */
export async function revokeKey(database: Queryable, reference: KeyReference) {
  const change = "UPDATE api_key SET revoked_at = COALESCE(revoked_at, $3)";
  const { id, name, hint, revoked_at } = await changeKey(database, reference, change, new Date());
  return { id, name, hint, revoked_at: (revoked_at ?? new Date()).toISOString() };
}

/** A range of `api_key_account_id_idx`. */
const revokeKeysOfSql = `UPDATE api_key SET revoked_at = now()
  WHERE account_id = $1 AND created_by = $2 AND ${isLiveKeySql} RETURNING name, hint`;

export async function revokeKeysOf(
  database: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
) {
  const { rows } = await database.query<{ name: string; hint: string }>(revokeKeysOfSql, [accountId, personId]);
  return rows;
}

/** One probe of `api_key_pkey`. */
async function changeKey(
  database: Queryable,
  { keyId, accountId }: KeyReference,
  change: string,
  value: unknown,
): Promise<KeyRow> {
  const sql = `${change} WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2) RETURNING ${listedSql}`;
  const { rows } = isUuid(keyId) ? await database.query<KeyRow>(sql, [keyId, accountId ?? null, value]) : { rows: [] };
  const [key] = rows;
  if (!key) throw new AccountError("unknown_key", `There is no key '${keyId}'.`);
  return key;
}

/** A range of `api_key_account_id_idx`, and for each a probe of `person_pkey` and `site_pkey`. */
const readLiveKeysSql = `
  SELECT k.id, ${keyServiceSql} AS service, ${keyScopeSql} AS scope, k.name, k.hint, k.created_at AS "createdAt",
    k.last_used_at AS "lastUsedAt", p.id AS "makerId", p.name AS "makerName", s.id AS "siteId", s.domain,
    k.expires_at AS "expiresAt"
  FROM api_key k LEFT JOIN person p ON p.id = k.created_by LEFT JOIN site s ON s.id = k.site_id
  WHERE k.account_id = $1 AND k.service <> 'link' AND ${isLiveKeySql} ORDER BY k.id DESC`;

interface LiveKeyRow extends Maker {
  id: string;
  service: KeyService;
  scope: KeyScope | null;
  name: string;
  hint: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  siteId: string | null;
  domain: string | null;
  expiresAt: Date | null;
}

/** The account's keys that work, latest first. */
export async function readLiveKeys(pool: pg.Pool, accountId: string) {
  const { rows } = await pool.query<LiveKeyRow>(readLiveKeysSql, [accountId]);
  return rows.map(({ siteId, domain, expiresAt, ...key }) => ({
    ...withMaker(key),
    ...(siteId !== null && domain !== null && { share: { siteId, domain, expiresAt } }),
  }));
}

interface Maker {
  makerId: string | null;
  makerName: string | null;
}

/** Nobody in the account made a key of the command line or of a removed person. */
function withMaker<Row extends Maker>({ makerId, makerName, ...key }: Row) {
  return { ...key, createdBy: makerId === null || makerName === null ? null : { id: makerId, name: makerName } };
}

/** A range of `api_key_account_id_idx`, and for each a probe of `person_pkey`. */
const readSharedLinksSql = `
  SELECT k.id, k.name, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt",
    k.password IS NOT NULL AS "hasPassword", k.frame_origins AS "frameOrigins", p.id AS "makerId", p.name AS "makerName"
  FROM api_key k LEFT JOIN person p ON p.id = k.created_by
  WHERE k.account_id = $1 AND k.service = 'link' AND ${isLiveKeySql}
    AND ($2::uuid IS NULL OR $2 IN (k.site_id, k.trace_id)) AND ($3::uuid IS NULL OR k.id = $3) ORDER BY k.id DESC`;

interface SharedLinkRow extends Maker {
  id: string;
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date;
  hasPassword: boolean;
  frameOrigins: string[];
}

/** The account's shared links that work, latest first. @param of a site or trace, or the link itself */
export async function readSharedLinks(
  pool: pg.Pool,
  accountId: string,
  of: { subjectId?: string | undefined; linkId?: string },
) {
  const values = [accountId, of.subjectId ?? null, of.linkId ?? null];
  const { rows } = await pool.query<SharedLinkRow>(readSharedLinksSql, values);
  return rows.map(withMaker);
}

/** A range of `api_key_account_id_idx`. */
const countKeysByMakerSql = `
  SELECT created_by AS "makerId", count(*)::int AS keys FROM api_key
  WHERE account_id = $1 AND ${isLiveKeySql} AND created_by IS NOT NULL GROUP BY created_by`;

/** The numbers of live keys by the people who made them, also of people who left. */
export async function countKeysByMaker(pool: pg.Pool, accountId: string): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ makerId: string; keys: number }>(countKeysByMakerSql, [accountId]);
  return new Map(rows.map(({ makerId, keys }) => [makerId, keys]));
}

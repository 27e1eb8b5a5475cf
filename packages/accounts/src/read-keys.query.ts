import type { KeyService } from "@waymark/auth";
import type pg from "pg";
import { isLiveKeySql, keyServiceSql } from "./stored-key.js";

/** The bounds of a shared key: the only site it reads, and its end. */
interface KeyShare {
  siteId: string;
  domain: string;
  expiresAt: Date | null;
}

/** A live key, and who made it. */
export interface LiveKey {
  id: string;
  service: KeyService;
  name: string;
  hint: string;
  /** Null for a key of the command line, and after the person's removal. */
  createdBy: { id: string; name: string } | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** Present for a shared key. */
  share?: KeyShare;
}

/** A range of `api_key_account_id_idx`, and for each a probe of `person_pkey` and `site_pkey`. */
const readLiveKeysSql = `
  SELECT k.id, ${keyServiceSql} AS service, k.name, k.hint, k.created_at AS "createdAt",
    k.last_used_at AS "lastUsedAt", p.id AS "makerId", p.name AS "makerName", s.id AS "siteId", s.domain,
    k.expires_at AS "expiresAt"
  FROM api_key k LEFT JOIN person p ON p.id = k.created_by LEFT JOIN site s ON s.id = k.site_id
  WHERE k.account_id = $1 AND ${isLiveKeySql} ORDER BY k.id DESC`;

type Nullable<T> = { [Name in keyof T]: T[Name] | null };
type Row = Omit<LiveKey, "createdBy" | "share"> &
  Nullable<{ makerId: string; makerName: string; siteId: string; domain: string; expiresAt: Date }>;

/** The account's keys that work, latest first. */
export async function readLiveKeys(pool: pg.Pool, accountId: string): Promise<LiveKey[]> {
  const { rows } = await pool.query<Row>(readLiveKeysSql, [accountId]);
  return rows.map(({ makerId, makerName, siteId, domain, expiresAt, ...key }) => ({
    ...key,
    createdBy: makerId === null || makerName === null ? null : { id: makerId, name: makerName },
    ...(siteId !== null && domain !== null && { share: { siteId, domain, expiresAt } }),
  }));
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

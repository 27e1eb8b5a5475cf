import type { KeyService } from "@waymark/auth";
import type pg from "pg";

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
}

/** A range of `api_key_account_id_idx`, and a probe of `person_pkey` for each. */
const readLiveKeysSql = `
  SELECT k.id, k.service, k.name, k.hint, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
    p.id AS "makerId", p.name AS "makerName"
  FROM api_key k LEFT JOIN person p ON p.id = k.created_by
  WHERE k.account_id = $1 AND k.revoked_at IS NULL ORDER BY k.id DESC`;

type Row = Omit<LiveKey, "createdBy"> & { makerId: string | null; makerName: string | null };

/** The account's keys that are not revoked, latest first. */
export async function readLiveKeys(pool: pg.Pool, accountId: string): Promise<LiveKey[]> {
  const { rows } = await pool.query<Row>(readLiveKeysSql, [accountId]);
  return rows.map(({ makerId, makerName, ...key }) => ({
    ...key,
    createdBy: makerId === null || makerName === null ? null : { id: makerId, name: makerName },
  }));
}

/** A range of `api_key_account_id_idx`. */
const countKeysByMakerSql = `
  SELECT created_by AS "makerId", count(*)::int AS keys FROM api_key
  WHERE account_id = $1 AND revoked_at IS NULL AND created_by IS NOT NULL GROUP BY created_by`;

/** The numbers of live keys by the people who made them, also of people who left. */
export async function countKeysByMaker(pool: pg.Pool, accountId: string): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ makerId: string; keys: number }>(countKeysByMakerSql, [accountId]);
  return new Map(rows.map(({ makerId, keys }) => [makerId, keys]));
}

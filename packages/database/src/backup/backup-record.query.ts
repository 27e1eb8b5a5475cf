import type { Queryable } from "../transaction.js";

interface BackupMoments {
  /** Of the data of a finished backup; `now` for one of another tool. */
  at?: string;
  verifiedAt?: string;
}

/** One row at most, by `backup_record_pkey`. A moment never goes back: an older file that ends later changes nothing. */
const recordSql = `
  INSERT INTO backup_record (at, verified_at) VALUES ($1::timestamptz, $2::timestamptz)
  ON CONFLICT (is_stored) DO UPDATE SET at = GREATEST(backup_record.at, EXCLUDED.at),
    verified_at = GREATEST(backup_record.verified_at, EXCLUDED.verified_at)`;

/** Remembers a backup. @returns false where the database cannot: it is a standby, or its schema is from before the record */
export async function recordBackup(client: Queryable, { at, verifiedAt }: BackupMoments): Promise<boolean> {
  const { rows } = await client.query<{ can: boolean }>(
    "SELECT to_regclass('backup_record') IS NOT NULL AND NOT pg_is_in_recovery() AS can",
  );
  if (!rows[0]?.can) return false;
  await client.query(recordSql, [at, verifiedAt]);
  return true;
}

export interface BackupAge {
  /** Since the last backup's data, or where none is recorded since the first migration: then the installation is as old. */
  seconds: number;
  isRecorded: boolean;
  verifiedSeconds: number | null;
}

/** The row by `backup_record_pkey`, and without it a scan of the migrations, a few dozen. */
const readAgeSql = `
  SELECT extract(epoch FROM now() - COALESCE(at, (SELECT min(started_at) FROM _prisma_migrations)))::float8 AS seconds,
    at IS NOT NULL AS "isRecorded", extract(epoch FROM now() - verified_at)::float8 AS "verifiedSeconds"
  FROM (SELECT) AS always LEFT JOIN backup_record ON true`;

export async function readBackupAge(client: Queryable): Promise<BackupAge> {
  const { rows } = await client.query<BackupAge>(readAgeSql);
  return rows[0] ?? { seconds: Number.POSITIVE_INFINITY, isRecorded: false, verifiedSeconds: null };
}

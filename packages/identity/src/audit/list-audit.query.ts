import type pg from "pg";
import type { AuditAction } from "./record-audit.query.js";

export interface AuditRow {
  id: string;
  at: Date;
  action: AuditAction;
  subject: string;
  person: string | null;
}

const pageSize = 50;

/** A range of `audit_pkey` from its end, and a probe of `person_pkey` for each. */
const listAuditSql = `
  SELECT a.id, a.at, a.action, a.subject, p.name AS person
  FROM audit a LEFT JOIN person p ON p.id = a.person_id
  WHERE a.account_id = $1 AND ($2::uuid IS NULL OR a.id < $2)
  ORDER BY a.id DESC LIMIT ${pageSize + 1}`;

/** The record of an account, latest first. @param before the last id of the page before */
export async function listAudit(
  pool: pg.Pool,
  accountId: string,
  before?: string,
): Promise<{ entries: AuditRow[]; hasMore: boolean }> {
  const { rows } = await pool.query<AuditRow>(listAuditSql, [accountId, before ?? null]);
  return { entries: rows.slice(0, pageSize), hasMore: rows.length > pageSize };
}

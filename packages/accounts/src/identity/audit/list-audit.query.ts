import type pg from "pg";
import type { Role } from "../sessions/session.query.js";
import type { AuditAction } from "./record-audit.query.js";

export interface AuditRow {
  id: string;
  at: Date;
  action: AuditAction;
  subject: string;
  person: string | null;
}

const pageSize = 50;

/** A range of `audit_pkey` from its end, and a probe of `person_pkey` for each. Only owners see invited addresses. */
const listAuditSql = `
  SELECT a.id, a.at, a.action, a.subject, p.name AS person
  FROM audit a LEFT JOIN person p ON p.id = a.person_id
  WHERE a.account_id = $1 AND ($2::uuid IS NULL OR a.id < $2)
    AND ($3 = 'owner' OR a.action <> 'person_invited')
  ORDER BY a.id DESC LIMIT ${pageSize + 1}`;

/** The record of an account as a person of this role sees it, latest first. @param before the last id of the page before */
export async function listAudit(
  pool: pg.Pool,
  { accountId, role, before }: { accountId: string; role: Role; before?: string | undefined },
): Promise<{ entries: AuditRow[]; hasMore: boolean }> {
  const { rows } = await pool.query<AuditRow>(listAuditSql, [accountId, before ?? null, role]);
  return { entries: rows.slice(0, pageSize), hasMore: rows.length > pageSize };
}

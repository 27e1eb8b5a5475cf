import { createUuidV7, type Queryable } from "@waymark/database";
import type pg from "pg";
import type { Role } from "./sessions/session.query.js";

type AuditAction =
  | "key_created"
  | "key_revoked"
  | "link_shared"
  | "link_revoked"
  | "person_invited"
  | "person_joined"
  | "person_removed"
  | "role_changed"
  | "factor_added"
  | "factor_removed"
  | "plan_changed"
  | "keep_changed"
  | "site_deleted"
  | "site_proven"
  | "site_costs_on"
  | "site_costs_off"
  | "site_lost"
  | "trace_deleted";

interface AuditEntry {
  accountId: string;
  /** Who did it; null where a command or Stripe did. */
  personId: string | null;
  action: AuditAction;
  /** The thing's name as people know it, such as a key's name and hint or a domain; never a secret. */
  subject: string;
}

const maxSubjectLength = 300;
const uuid = createUuidV7();

/** Records an action, best in its transaction. @param client a pool or the transaction's connection */
export async function recordAudit(client: Queryable, entry: AuditEntry): Promise<void> {
  const { accountId, personId, action } = entry;
  const subject = entry.subject.slice(0, maxSubjectLength).toWellFormed();
  const sql = "INSERT INTO audit (account_id, id, person_id, action, subject) VALUES ($1, $2, $3, $4, $5)";
  await client.query(sql, [accountId, uuid(), personId, action, subject]);
}

interface PersonEntry extends Omit<AuditEntry, "accountId"> {
  personId: string;
  /** Who did it; the person themself by default, null for a command. */
  actorId?: string | null;
}

/** Records an action about a person in each of their accounts, in a range of `membership_person_id_idx`. */
export async function recordForPerson(client: Queryable, { personId, actorId = personId, ...entry }: PersonEntry) {
  const sql = 'SELECT account_id AS "accountId" FROM membership WHERE person_id = $1 ORDER BY account_id';
  const { rows } = await client.query<{ accountId: string }>(sql, [personId]);
  for (const { accountId } of rows) await recordAudit(client, { ...entry, personId: actorId, accountId });
}

interface AuditRow extends Pick<AuditEntry, "action" | "subject"> {
  id: string;
  at: Date;
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
) {
  const { rows } = await pool.query<AuditRow>(listAuditSql, [accountId, before ?? null, role]);
  return { entries: rows.slice(0, pageSize), hasMore: rows.length > pageSize };
}

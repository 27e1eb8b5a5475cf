import { createUuidV7 } from "@waymark/database";
import type pg from "pg";

/** What is recorded of an account. The team page has a sentence for each. */
export type AuditAction =
  | "key_created"
  | "key_revoked"
  | "person_invited"
  | "person_joined"
  | "person_removed"
  | "role_changed"
  | "plan_changed"
  | "site_deleted"
  | "site_proven"
  | "site_lost"
  | "trace_deleted";

export interface AuditEntry {
  accountId: string;
  /** Who did it; null where a command or Stripe did. */
  personId: string | null;
  action: AuditAction;
  /** The thing's name as people know it, such as a key's name and hint or a domain; never a secret. */
  subject: string;
}

const maxSubjectLength = 300;
const uuid = createUuidV7();

const recordAuditSql = "INSERT INTO audit (account_id, id, person_id, action, subject) VALUES ($1, $2, $3, $4, $5)";

/** Records an action, best in its transaction. @param client a pool or the transaction's connection */
export async function recordAudit(client: Pick<pg.ClientBase, "query">, entry: AuditEntry): Promise<void> {
  const subject = entry.subject.slice(0, maxSubjectLength).toWellFormed();
  await client.query(recordAuditSql, [entry.accountId, uuid(), entry.personId, entry.action, subject]);
}

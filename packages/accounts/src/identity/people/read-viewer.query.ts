import type { PlanId } from "@waymark/plan";
import type pg from "pg";
import type { Role } from "../sessions/session.query.js";

/** An account with the role that a person has in it. */
interface Membership {
  id: string;
  /** Its name, or its address where it has none. */
  name: string;
  role: Role;
}

export interface PersonInAccount {
  person: { id: string; name: string; email: string; hasPassword: boolean };
  account: { id: string; email: string; name: string; plan: PlanId; slot: string };
  /** All accounts of the person, by name. */
  accounts: Membership[];
}

type Row = {
  name: string;
  email: string;
  hasPassword: boolean;
  accountEmail: string;
  accountName: string;
  plan: PlanId;
  slot: string;
  accounts: string;
};

/** Probes `person_pkey`, `account_pkey`, `credential_person_id_provider_key`, and a range of `membership_person_id_idx`. */
const readViewerSql = `
  SELECT p.name, p.email, a.email AS "accountEmail", COALESCE(a.name, a.email) AS "accountName", a.plan, a.slot,
    EXISTS (SELECT FROM credential c WHERE c.person_id = p.id AND c.password IS NOT NULL) AS "hasPassword",
    (SELECT json_agg(json_build_object('id', o.id, 'name', COALESCE(o.name, o.email), 'role', m.role)
       ORDER BY COALESCE(o.name, o.email), o.id)
     FROM membership m JOIN account o ON o.id = m.account_id WHERE m.person_id = p.id)::text AS accounts
  FROM person p, account a
  WHERE p.id = $1 AND a.id = $2`;

export async function readViewer(
  pool: pg.Pool,
  { personId, accountId }: { personId: string; accountId: string },
): Promise<PersonInAccount | undefined> {
  const { rows } = await pool.query<Row>(readViewerSql, [personId, accountId]);
  const row = rows[0];
  if (!row) return undefined;
  const { name, email, hasPassword, accountEmail, accountName, plan, slot } = row;
  return {
    person: { id: personId, name, email, hasPassword },
    account: { id: accountId, email: accountEmail, name: accountName, plan, slot },
    accounts: JSON.parse(row.accounts ?? "[]") as Membership[],
  };
}

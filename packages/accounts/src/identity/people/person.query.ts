import { drawSlot, type Slots } from "@waymark/auth";
import { createUuidV7, type Queryable } from "@waymark/database";
import type { PlanId } from "@waymark/plan";
import type pg from "pg";
import { endSessionsOf, type Role } from "../sessions/session.query.js";

const uuid = createUuidV7();

export interface Person {
  id: string;
  email: string;
  name: string;
  isVerified: boolean;
}

/** @param email in lower case */
export async function findPersonByEmail(client: Queryable, email: string): Promise<Person | undefined> {
  const sql = 'SELECT id, email, name, is_verified AS "isVerified" FROM person WHERE email = $1';
  const { rows } = await client.query<Person>(sql, [email]);
  return rows[0];
}

/** Stores a person with a proven address; nothing where the address has one, `person_email_key` decides. */
const insertPersonSql = `
  INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, $3, true)
  ON CONFLICT (email) DO NOTHING`;

/** @returns the person's id; undefined where the address has a person already */
export async function addPerson(
  client: Queryable,
  person: { email: string; name: string },
): Promise<string | undefined> {
  const id = uuid();
  const { rowCount } = await client.query(insertPersonSql, [id, person.email, person.name]);
  return rowCount === 1 ? id : undefined;
}

/** Only a mail leads here, so the address is proven. */
export async function verifyPerson(client: Queryable, id: string): Promise<void> {
  const sql = "UPDATE person SET is_verified = true, updated_at = now() WHERE id = $1 AND NOT is_verified";
  await client.query(sql, [id]);
}

export async function renamePerson(client: Queryable, id: string, name: string): Promise<void> {
  await client.query("UPDATE person SET name = $2, updated_at = now() WHERE id = $1", [id, name]);
}

/** Replaces the person's one password; `credential_person_id_provider_key` decides. */
const setPasswordSql = `
  INSERT INTO credential (id, person_id, provider, subject, password) VALUES ($1, $2, 'credential', $3, $4)
  ON CONFLICT (person_id, provider) DO UPDATE SET password = EXCLUDED.password, updated_at = now()`;

export async function setPassword(client: Queryable, personId: string, hash: string): Promise<void> {
  await client.query(setPasswordSql, [uuid(), personId, personId, hash]);
}

/** Every link of the address is a way in, whoever made it. A range of `one_time_link_email_idx`. */
const dropLinksSql = `
  DELETE FROM one_time_link WHERE email = (SELECT email FROM person WHERE id = $1) AND used_at IS NULL`;

/** Sets another password: sessions and links from before it end. */
export async function changePassword(client: Queryable, personId: string, hash: string): Promise<void> {
  await setPassword(client, personId, hash);
  await endSessionsOf(client, personId);
  await client.query(dropLinksSql, [personId]);
}

export async function readPassword(client: Queryable, personId: string): Promise<string | undefined> {
  const sql = "SELECT password FROM credential WHERE person_id = $1 AND provider = 'credential'";
  const { rows } = await client.query<{ password: string | null }>(sql, [personId]);
  return rows[0]?.password ?? undefined;
}

/** Leaves an earlier membership as it is. */
const joinAccountSql = `
  INSERT INTO membership (account_id, person_id, role, by_provider) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account_id, person_id) DO NOTHING`;

export interface NewMembership {
  accountId: string;
  personId: string;
  role: Role;
  byProvider?: boolean;
}

export async function joinAccount(
  client: Queryable,
  { accountId, personId, role, byProvider = false }: NewMembership,
): Promise<boolean> {
  const { rowCount } = await client.query(joinAccountSql, [accountId, personId, role, byProvider]);
  return rowCount === 1;
}

export async function isMember(client: Queryable, accountId: string, personId: string): Promise<boolean> {
  const sql = "SELECT FROM membership WHERE account_id = $1 AND person_id = $2";
  const { rowCount } = await client.query(sql, [accountId, personId]);
  return rowCount === 1;
}

/** The account used last, else the first. A range of `membership_person_id_idx`, and for each of `session_person_id_idx`. */
const homeAccountSql = `
  SELECT m.account_id AS id FROM membership m
  LEFT JOIN LATERAL (
    SELECT max(s.seen_at) AS at FROM session s WHERE s.person_id = m.person_id AND s.account_id = m.account_id
  ) AS seen ON true
  WHERE m.person_id = $1 ORDER BY seen.at DESC NULLS LAST, m.created_at, m.account_id LIMIT 1`;

export async function homeAccountOf(client: Queryable, personId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(homeAccountSql, [personId]);
  return rows[0]?.id;
}

/** The lock makes two first sign-ups wait for each other. A probe of `account_email_key`. */
const findAccountSql = `
  SELECT id, EXISTS (SELECT FROM membership m WHERE m.account_id = a.id) AS "hasPeople"
  FROM account a WHERE email = $1 FOR UPDATE`;

const insertAccountSql = `
  INSERT INTO account (id, email, plan, slot) VALUES ($1, $2, 'free', $3) ON CONFLICT (email) DO NOTHING`;

/** Takes the account that a command made for a proven address, or a new one on Free; undefined where it has people. */
export async function claimAccount(client: Queryable, email: string, slots?: Slots): Promise<string | undefined> {
  const id = uuid();
  const { rowCount } = await client.query(insertAccountSql, [id, email, drawSlot(slots)]);
  if (rowCount === 1) return id;
  const { rows } = await client.query<{ id: string; hasPeople: boolean }>(findAccountSql, [email]);
  const [account] = rows;
  return account && !account.hasPeople ? account.id : undefined;
}

interface ViewerRow {
  name: string;
  email: string;
  hasPassword: boolean;
  /** Those left; null while one-time codes are off. */
  recoveryCodes: number | null;
  accountEmail: string;
  accountName: string;
  plan: PlanId;
  slot: string;
  /** JSON. */
  accounts: string | null;
}

/** Probes `person_pkey`, `account_pkey`, `credential_person_id_provider_key`, `totp_pkey`, and a range of `membership_person_id_idx`. */
const readViewerSql = `
  SELECT p.name, p.email, a.email AS "accountEmail", COALESCE(a.name, a.email) AS "accountName", a.plan, a.slot,
    EXISTS (SELECT FROM credential c WHERE c.person_id = p.id AND c.password IS NOT NULL) AS "hasPassword",
    (SELECT cardinality(t.recovery) FROM totp t WHERE t.person_id = p.id AND t.confirmed_at IS NOT NULL) AS "recoveryCodes",
    (SELECT json_agg(json_build_object('id', o.id, 'name', COALESCE(o.name, o.email), 'role', m.role)
       ORDER BY COALESCE(o.name, o.email), o.id)
     FROM membership m JOIN account o ON o.id = m.account_id WHERE m.person_id = p.id)::text AS accounts
  FROM person p, account a
  WHERE p.id = $1 AND a.id = $2`;

/** A person in an account, with all accounts of the person by name. An account's name is its address where it has none. */
export async function readViewer(pool: pg.Pool, { personId, accountId }: { personId: string; accountId: string }) {
  const { rows } = await pool.query<ViewerRow>(readViewerSql, [personId, accountId]);
  if (!rows[0]) return undefined;
  const { accountEmail, accountName, plan, slot, accounts, ...person } = rows[0];
  const known: { id: string; name: string; role: Role }[] = JSON.parse(accounts ?? "[]");
  return {
    person: { id: personId, ...person },
    account: { id: accountId, email: accountEmail, name: accountName, plan, slot },
    accounts: known,
  };
}

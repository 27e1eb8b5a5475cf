import { drawSlot, type Slots } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { endSessionsOf, type Role } from "../sessions/session.query.js";

type Client = Pick<pg.ClientBase, "query">;

const uuid = createUuidV7();

/** A probe of `person_email_key`. */
const findPersonSql = 'SELECT id, email, name, is_verified AS "isVerified" FROM person WHERE email = $1';

export interface Person {
  id: string;
  email: string;
  name: string;
  isVerified: boolean;
}

/** @param email in lower case */
export async function findPersonByEmail(client: Client, email: string): Promise<Person | undefined> {
  const { rows } = await client.query<Person>(findPersonSql, [email]);
  return rows[0];
}

/** Stores a person with a proven address; nothing where the address has one, `person_email_key` decides. */
const insertPersonSql = `
  INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, $3, true)
  ON CONFLICT (email) DO NOTHING`;

/** @returns the person's id; undefined where the address has a person already */
export async function addPerson(client: Client, person: { email: string; name: string }): Promise<string | undefined> {
  const id = uuid();
  const { rowCount } = await client.query(insertPersonSql, [id, person.email, person.name]);
  return rowCount === 1 ? id : undefined;
}

/** Only a mail leads here, so the address is proven. A probe of `person_pkey`. */
const verifyPersonSql = "UPDATE person SET is_verified = true, updated_at = now() WHERE id = $1 AND NOT is_verified";

export async function verifyPerson(client: Client, personId: string): Promise<void> {
  await client.query(verifyPersonSql, [personId]);
}

/** A probe of `person_pkey`. */
const renamePersonSql = "UPDATE person SET name = $2, updated_at = now() WHERE id = $1";

export async function renamePerson(client: Client, personId: string, name: string): Promise<void> {
  await client.query(renamePersonSql, [personId, name]);
}

/** Replaces the person's one password; `credential_person_id_provider_key` decides. */
const setPasswordSql = `
  INSERT INTO credential (id, person_id, provider, subject, password) VALUES ($1, $2, 'credential', $3, $4)
  ON CONFLICT (person_id, provider) DO UPDATE SET password = EXCLUDED.password, updated_at = now()`;

/** @param hash of `Passwords` */
export async function setPassword(client: Client, personId: string, hash: string): Promise<void> {
  await client.query(setPasswordSql, [uuid(), personId, personId, hash]);
}

/** Every link of the address is a way in, whoever made it. A range of `one_time_link_email_idx`. */
const dropLinksSql = `
  DELETE FROM one_time_link WHERE email = (SELECT email FROM person WHERE id = $1) AND used_at IS NULL`;

/** Sets another password: sessions and links from before it end. */
export async function changePassword(client: Client, personId: string, hash: string): Promise<void> {
  await setPassword(client, personId, hash);
  await endSessionsOf(client, personId);
  await client.query(dropLinksSql, [personId]);
}

/** A probe of `credential_person_id_provider_key`. */
const readPasswordSql = "SELECT password FROM credential WHERE person_id = $1 AND provider = 'credential'";

/** The hash of the person's password; undefined without one. */
export async function readPassword(client: Client, personId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ password: string | null }>(readPasswordSql, [personId]);
  return rows[0]?.password ?? undefined;
}

/** Leaves an earlier membership as it is. */
const joinAccountSql = `
  INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, $3)
  ON CONFLICT (account_id, person_id) DO NOTHING`;

/** @returns whether the person is new in the account */
export async function joinAccount(
  client: Client,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<boolean> {
  const { rowCount } = await client.query(joinAccountSql, [accountId, personId, role]);
  return rowCount === 1;
}

/** A probe of `membership_pkey`. */
const isMemberSql = "SELECT FROM membership WHERE account_id = $1 AND person_id = $2";

export async function isMember(client: Client, accountId: string, personId: string): Promise<boolean> {
  const { rowCount } = await client.query(isMemberSql, [accountId, personId]);
  return rowCount === 1;
}

/** The account used last, else the first. A range of `membership_person_id_idx`, and for each of `session_person_id_idx`. */
const homeAccountSql = `
  SELECT m.account_id AS id FROM membership m
  LEFT JOIN LATERAL (
    SELECT max(s.seen_at) AS at FROM session s WHERE s.person_id = m.person_id AND s.account_id = m.account_id
  ) AS seen ON true
  WHERE m.person_id = $1 ORDER BY seen.at DESC NULLS LAST, m.created_at, m.account_id LIMIT 1`;

/** @returns undefined for a person without an account */
export async function homeAccountOf(client: Client, personId: string): Promise<string | undefined> {
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
export async function claimAccount(client: Client, email: string, slots?: Slots): Promise<string | undefined> {
  const id = uuid();
  const { rowCount } = await client.query(insertAccountSql, [id, email, drawSlot(slots)]);
  if (rowCount === 1) return id;
  const { rows } = await client.query<{ id: string; hasPeople: boolean }>(findAccountSql, [email]);
  const [account] = rows;
  return account && !account.hasPeople ? account.id : undefined;
}

import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { recordAudit } from "../audit.query.js";
import type { Role } from "../sessions/session.query.js";

interface TeamMember {
  id: string;
  name: string;
  email: string;
  role: Role;
  joinedAt: Date;
  /** The latest use for this account; null without a session. */
  seenAt: Date | null;
}

const maxPeople = 1_000;

/** A range of `membership_pkey`; for each a probe of `person_pkey` and a range of `session_person_id_idx`. */
const listPeopleSql = `
  SELECT p.id, p.name, p.email, m.role, m.created_at AS "joinedAt",
    (SELECT max(s.seen_at) FROM session s WHERE s.person_id = p.id AND s.account_id = m.account_id) AS "seenAt"
  FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.account_id = $1 ORDER BY lower(p.name), p.id LIMIT ${maxPeople}`;

export async function listPeople(pool: pg.Pool, accountId: string): Promise<TeamMember[]> {
  const { rows } = await pool.query<TeamMember>(listPeopleSql, [accountId]);
  return rows;
}

interface WaitingInvitation {
  id: string;
  email: string;
  role: Role;
  invitedAt: Date;
  expiresAt: Date;
}

/** A range of `one_time_link_account_id_idx`. */
const listInvitationsSql = `
  SELECT id, email, role, created_at AS "invitedAt", expires_at AS "expiresAt" FROM one_time_link
  WHERE account_id = $1 AND purpose = 'invite' AND used_at IS NULL AND expires_at > $2
  ORDER BY created_at DESC, id DESC LIMIT ${maxPeople}`;

export async function listInvitations(pool: pg.Pool, accountId: string, now: Date): Promise<WaitingInvitation[]> {
  const { rows } = await pool.query<WaitingInvitation>(listInvitationsSql, [accountId, now]);
  return rows;
}

/** A range of `one_time_link_account_id_idx`. */
const dropInvitationsSql =
  "DELETE FROM one_time_link WHERE account_id = $1 AND purpose = 'invite' AND used_at IS NULL AND";

export async function dropInvitation(pool: pg.Pool, accountId: string, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(`${dropInvitationsSql} id = $2`, [accountId, id]);
  return rowCount === 1;
}

/** Removes earlier invitations of an address: the newest link is the one that works. */
export async function replaceInvitations(pool: pg.Pool, accountId: string, email: string): Promise<void> {
  await pool.query(`${dropInvitationsSql} email = $2`, [accountId, email]);
}

/** The lock keeps two owners from leaving at once. A range of `membership_pkey`. */
const lockTeamSql = `
  SELECT m.person_id AS id, m.role, p.email FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.account_id = $1 ORDER BY m.person_id FOR UPDATE OF m`;

interface Change {
  accountId: string;
  personId: string;
  /** Null for the provider. */
  actorId: string | null;
}

/** Locks the account's people and finds one; undefined for another account's person. */
async function lockPerson(client: pg.ClientBase, { accountId, personId }: Change) {
  const { rows } = await client.query<{ id: string; role: Role; email: string }>(lockTeamSql, [accountId]);
  const person = rows.find(({ id }) => id === personId);
  const hasOtherOwner = rows.some(({ id, role }) => id !== personId && role === "owner");
  return person && { ...person, isLastOwner: person.role === "owner" && !hasOtherOwner };
}

/** @throws AppError 404 for another account's person, 409 `last_owner` */
export async function changeRole(pool: pg.Pool, change: Change & { role: Role }): Promise<void> {
  await withTransaction(pool, async (client) => {
    const person = await lockPerson(client, change);
    if (!person) throw new AppError("not_found");
    if (person.isLastOwner && change.role !== "owner") throw new AppError("last_owner");
    await setRole(client, person, change);
  });
}

async function setRole(client: pg.ClientBase, person: { role: Role; email: string }, change: Change & { role: Role }) {
  const { accountId, personId, actorId, role } = change;
  if (person.role === role) return;
  const sql = "UPDATE membership SET role = $3 WHERE account_id = $1 AND person_id = $2";
  await client.query(sql, [accountId, personId, role]);
  const subject = `${person.email} (${role})`;
  await recordAudit(client, { accountId, personId: actorId, action: "role_changed", subject });
}

/** A range of `membership_person_id_idx`; in one order for all, so that two sign-ins at once never wait in a circle. */
const providedSql = `
  SELECT account_id AS "accountId" FROM membership WHERE person_id = $1 AND by_provider ORDER BY account_id`;

/** Sets the provider's role in each account joined by it, but the last owner of an account stays one. */
export async function followProvider(client: pg.ClientBase, personId: string, role: Role): Promise<void> {
  const { rows } = await client.query<{ accountId: string }>(providedSql, [personId]);
  for (const { accountId } of rows) {
    const change = { accountId, personId, actorId: null, role };
    const person = await lockPerson(client, change);
    if (person && !person.isLastOwner) await setRole(client, person, change);
  }
}

/** The first account, never one that the person chose by using it last. A range of `membership_person_id_idx`. */
const leaveToProviderSql = `
  UPDATE membership SET by_provider = true WHERE person_id = $1 AND account_id = (
    SELECT account_id FROM membership WHERE person_id = $1 ORDER BY created_at, account_id LIMIT 1)`;

/** Lets the provider decide the role of a known person in their first account. */
export async function leaveToProvider(client: pg.ClientBase, personId: string): Promise<void> {
  await client.query(leaveToProviderSql, [personId]);
}

/** In a transaction; a person without another account is gone. @throws AppError 404, 409 `last_owner` */
export async function removePerson(client: pg.ClientBase, change: Change): Promise<void> {
  const { accountId, personId, actorId } = change;
  const person = await lockPerson(client, change);
  if (!person) throw new AppError("not_found");
  if (person.isLastOwner) throw new AppError("last_owner");
  await client.query("DELETE FROM membership WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
  await recordAudit(client, { accountId, personId: actorId, action: "person_removed", subject: person.email });
}

export async function renameAccount(pool: pg.Pool, id: string, name: string): Promise<void> {
  await pool.query("UPDATE account SET name = $2 WHERE id = $1", [id, name]);
}

export async function isAccountSince(pool: pg.Pool, id: string, moment: Date): Promise<boolean> {
  return (await pool.query("SELECT FROM account WHERE id = $1 AND created_at > $2", [id, moment])).rowCount === 1;
}

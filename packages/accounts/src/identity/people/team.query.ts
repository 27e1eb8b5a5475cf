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
  actorId: string;
}

/** Locks the account's people and finds one. @throws AppError 404; 409 if nobody else is an owner and `losesOwner` */
async function lockPerson(client: pg.ClientBase, { accountId, personId }: Change, losesOwner: boolean) {
  const { rows } = await client.query<{ id: string; role: Role; email: string }>(lockTeamSql, [accountId]);
  const person = rows.find(({ id }) => id === personId);
  if (!person) throw new AppError("not_found");
  const isLastOwner = !rows.some(({ id, role }) => id !== personId && role === "owner");
  if (losesOwner && person.role === "owner" && isLastOwner) throw new AppError("last_owner");
  return person;
}

/** @throws AppError 404 for another account's person, 409 `last_owner` */
export async function changeRole(pool: pg.Pool, change: Change & { role: Role }): Promise<void> {
  const { accountId, personId, actorId, role } = change;
  await withTransaction(pool, async (client) => {
    const person = await lockPerson(client, change, role !== "owner");
    if (person.role === role) return;
    const sql = "UPDATE membership SET role = $3 WHERE account_id = $1 AND person_id = $2";
    await client.query(sql, [accountId, personId, role]);
    const subject = `${person.email} (${role})`;
    await recordAudit(client, { accountId, personId: actorId, action: "role_changed", subject });
  });
}

/** In a transaction; a person without another account is gone. @throws AppError 404, 409 `last_owner` */
export async function removePerson(client: pg.ClientBase, change: Change): Promise<void> {
  const { accountId, personId, actorId } = change;
  const { email } = await lockPerson(client, change, true);
  await client.query("DELETE FROM membership WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
  await recordAudit(client, { accountId, personId: actorId, action: "person_removed", subject: email });
}

export async function renameAccount(pool: pg.Pool, id: string, name: string): Promise<void> {
  await pool.query("UPDATE account SET name = $2 WHERE id = $1", [id, name]);
}

export async function isAccountSince(pool: pg.Pool, id: string, moment: Date): Promise<boolean> {
  return (await pool.query("SELECT FROM account WHERE id = $1 AND created_at > $2", [id, moment])).rowCount === 1;
}

import { firstSlot } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { createSessionToken, hashToken } from "../token.js";

export type Role = "owner" | "member";

const dayMs = 24 * 3_600_000;
const idleMs = 14 * dayMs;
const longestMs = 90 * dayMs;
/** The sign of life of a session is this exact, so reading pages seldom writes. */
const seenEveryMs = 3_600_000;

export interface StoredSession {
  sessionId: string;
  personId: string;
  accountId: string;
  role: Role;
  email: string;
  seenAt: Date;
}

/** A removed person is out at once: no membership, no session. Probes `session_token_key`, `membership_pkey`, `person_pkey`. */
const findSessionSql = `
  SELECT s.id AS "sessionId", s.person_id AS "personId", s.account_id AS "accountId", m.role, p.email, s.seen_at AS "seenAt"
  FROM session s
  JOIN membership m ON m.account_id = s.account_id AND m.person_id = s.person_id
  JOIN person p ON p.id = s.person_id
  WHERE s.token = $1 AND s.expires_at > $2`;

export async function findSession(pool: pg.Pool, token: string, now: Date): Promise<StoredSession | undefined> {
  const values = [hashToken(token).toString("base64url"), now];
  const { rows } = await pool.query<StoredSession>({ name: "find-session", text: findSessionSql, values });
  return rows[0];
}

/** Moves a session's end: idle sessions live 14 days, any session 90. A probe of `session_pkey`. */
const extendSessionSql = `
  UPDATE session SET seen_at = $2, expires_at = LEAST($3::timestamptz, created_at + $4 * interval '1 millisecond')
  WHERE id = $1 AND seen_at < $2`;

/** Notes that a session is in use, once an hour. */
export async function keepSession(pool: pg.Pool, session: StoredSession, now: Date): Promise<void> {
  if (now.getTime() - session.seenAt.getTime() < seenEveryMs) return;
  const expiresAt = new Date(now.getTime() + idleMs);
  await pool.query(extendSessionSql, [session.sessionId, now, expiresAt, longestMs]);
}

const uuid = createUuidV7();

/** Of one person. A program that signs in each time would else fill the table. */
const maxSessions = 100;

/**
 * Stores a session under the hash of its token, and removes the person's ended ones and those beyond the bound that were used
 * least recently, by `session_person_id_idx`.
 */
const insertSessionSql = `
  WITH removed AS (
    DELETE FROM session WHERE person_id = $3 AND (expires_at < $6 OR id IN (
      SELECT id FROM session WHERE person_id = $3 ORDER BY seen_at DESC, id DESC OFFSET ${maxSessions - 1})))
  INSERT INTO session (id, token, person_id, account_id, client, created_at, seen_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $6, $7)`;

const maxClientLength = 400;

const slotSql = "SELECT slot FROM account WHERE id = $1";

/** Starts a session and returns its token, which exists only in this answer and in the browser. */
export async function startSession(
  client: Pick<pg.ClientBase, "query">,
  {
    personId,
    accountId,
    userAgent,
    now,
  }: { personId: string; accountId: string; userAgent?: string | undefined; now: Date },
): Promise<string> {
  const { rows } = await client.query<{ slot: string }>(slotSql, [accountId]);
  const token = createSessionToken(rows[0]?.slot ?? firstSlot);
  const hash = hashToken(token).toString("base64url");
  const browser = userAgent?.slice(0, maxClientLength) ?? null;
  const expiresAt = new Date(now.getTime() + idleMs);
  await client.query(insertSessionSql, [uuid(), hash, personId, accountId, browser, now, expiresAt]);
  return token;
}

/** A range of `session_person_id_idx`. Each row's trigger tells every instance. */
const endSessionsSql = "DELETE FROM session WHERE person_id = $1 AND ($2::uuid IS NULL OR id <> $2)";

export async function endSessionsOf(
  client: Pick<pg.ClientBase, "query">,
  personId: string,
  exceptId?: string,
): Promise<void> {
  await client.query(endSessionsSql, [personId, exceptId ?? null]);
}

/** A probe of `session_pkey`. */
const endSessionSql = "DELETE FROM session WHERE id = $1 AND person_id = $2";

/** Ends one session of a person. @returns whether there was one */
export async function endSession(
  client: Pick<pg.ClientBase, "query">,
  { sessionId, personId }: { sessionId: string; personId: string },
): Promise<boolean> {
  const { rowCount } = await client.query(endSessionSql, [sessionId, personId]);
  return rowCount === 1;
}

/** Ends the session of a token: a browser that signs in again. A probe of `session_token_key`. */
const endSessionOfTokenSql = "DELETE FROM session WHERE token = $1";

export async function endSessionOfToken(client: Pick<pg.ClientBase, "query">, token: string): Promise<void> {
  await client.query(endSessionOfTokenSql, [hashToken(token).toString("base64url")]);
}

export interface SessionRow {
  id: string;
  client: string | null;
  createdAt: Date;
  seenAt: Date;
}

/** A range of `session_person_id_idx`. */
const listSessionsSql = `
  SELECT id, client, created_at AS "createdAt", seen_at AS "seenAt" FROM session
  WHERE person_id = $1 AND expires_at > $2 ORDER BY seen_at DESC, id DESC LIMIT ${maxSessions}`;

export async function listSessions(pool: pg.Pool, personId: string, now: Date): Promise<SessionRow[]> {
  const { rows } = await pool.query<SessionRow>(listSessionsSql, [personId, now]);
  return rows;
}

/** Moves a session to another account of its person. Probes `session_pkey` and `membership_pkey`. */
const switchAccountSql = `
  UPDATE session s SET account_id = $3
  WHERE s.id = $1 AND s.person_id = $2
    AND EXISTS (SELECT FROM membership m WHERE m.account_id = $3 AND m.person_id = $2)`;

/** @returns false where the person is not in the account */
export async function switchAccount(
  client: Pick<pg.ClientBase, "query">,
  { sessionId, personId, accountId }: { sessionId: string; personId: string; accountId: string },
): Promise<boolean> {
  const { rowCount } = await client.query(switchAccountSql, [sessionId, personId, accountId]);
  return rowCount === 1;
}

import { firstSlot } from "@waymark/auth";
import { createUuidV7, type Queryable } from "@waymark/database";
import type pg from "pg";
import { createSessionToken, hashToken } from "../token.js";

export const roles = ["owner", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

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
  const query = { name: "find-session", text: findSessionSql, values: [storedToken(token), now] };
  const { rows } = await pool.query<StoredSession>(query);
  return rows[0];
}

/** Moves a session's end: idle sessions live 14 days, any session 90. A probe of `session_pkey`. */
const extendSessionSql = `
  UPDATE session SET seen_at = $2, expires_at = LEAST($3::timestamptz, created_at + $4 * interval '1 millisecond')
  WHERE id = $1 AND seen_at < $2`;

export async function keepSession(pool: pg.Pool, session: StoredSession, now: Date): Promise<void> {
  if (now.getTime() - session.seenAt.getTime() < seenEveryMs) return;
  const expiresAt = new Date(now.getTime() + idleMs);
  await pool.query(extendSessionSql, [session.sessionId, now, expiresAt, longestMs]);
}

const uuid = createUuidV7();

function storedToken(token: string): string {
  return hashToken(token).toString("base64url");
}

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

/** Starts a session and returns its token, which exists only in this answer and in the browser. */
export async function startSession(
  client: Queryable,
  visit: { personId: string; accountId: string; userAgent?: string | undefined; now: Date },
): Promise<string> {
  const { personId, accountId, userAgent, now } = visit;
  const { rows } = await client.query<{ slot: string }>("SELECT slot FROM account WHERE id = $1", [accountId]);
  const token = createSessionToken(rows[0]?.slot ?? firstSlot);
  const browser = userAgent?.slice(0, maxClientLength) ?? null;
  const expiresAt = new Date(now.getTime() + idleMs);
  await client.query(insertSessionSql, [uuid(), storedToken(token), personId, accountId, browser, now, expiresAt]);
  return token;
}

/** A range of `session_person_id_idx`. Each row's trigger tells every instance. */
const endSessionsSql = "DELETE FROM session WHERE person_id = $1 AND ($2::uuid IS NULL OR id <> $2)";

export async function endSessionsOf(client: Queryable, personId: string, exceptId?: string): Promise<void> {
  await client.query(endSessionsSql, [personId, exceptId ?? null]);
}

interface SessionReference {
  sessionId: string;
  personId: string;
}

export async function endSession(client: Queryable, { sessionId, personId }: SessionReference): Promise<boolean> {
  const sql = "DELETE FROM session WHERE id = $1 AND person_id = $2";
  const { rowCount } = await client.query(sql, [sessionId, personId]);
  return rowCount === 1;
}

export async function endSessionOfToken(client: Queryable, token: string): Promise<void> {
  await client.query("DELETE FROM session WHERE token = $1", [storedToken(token)]);
}

interface SessionRow {
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

export async function switchAccount(
  client: Queryable,
  { sessionId, personId, accountId }: SessionReference & { accountId: string },
): Promise<boolean> {
  const { rowCount } = await client.query(switchAccountSql, [sessionId, personId, accountId]);
  return rowCount === 1;
}

import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { createToken, hashToken } from "../token.js";

export type Role = "owner" | "member";

const dayMs = 24 * 3_600_000;
export const idleMs = 14 * dayMs;
export const longestMs = 90 * dayMs;
/** The sign of life of a session is this exact, so reading pages seldom writes. */
const seenEveryMs = 3_600_000;

/** A live session with the person's present role in its account. */
export interface StoredSession {
  sessionId: string;
  personId: string;
  accountId: string;
  role: Role;
  email: string;
  seenAt: Date;
}

/**
 * Finds a live session. Without a membership there is no session, so a removed person is out at once. One probe of
 * `session_token_key`, `membership_pkey` and `person_pkey` each.
 */
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

/** Stores a session under the hash of its token. */
const insertSessionSql = `
  INSERT INTO session (id, token, person_id, account_id, client, created_at, seen_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $6, $7)`;

const maxClientLength = 400;

/** Starts a session and returns its token, which exists only in this answer and in the browser. */
export async function startSession(
  client: Pick<pg.ClientBase, "query">,
  { personId, accountId, userAgent, now }: { personId: string; accountId: string; userAgent?: string; now: Date },
): Promise<string> {
  const token = createToken();
  const hash = hashToken(token).toString("base64url");
  const browser = userAgent?.slice(0, maxClientLength) ?? null;
  const expiresAt = new Date(now.getTime() + idleMs);
  await client.query(insertSessionSql, [uuid(), hash, personId, accountId, browser, now, expiresAt]);
  return token;
}

import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import type { Role } from "../sessions/session.query.js";
import { createToken, hashToken } from "../token.js";

export type LinkPurpose = "verify" | "reset" | "invite" | "sign_in" | "channel";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long links live, unless a caller says otherwise. */
const linkLifeMs = {
  verify: dayMs,
  reset: hourMs,
  invite: 7 * dayMs,
  sign_in: 15 * minuteMs,
  channel: dayMs,
} as const satisfies Record<LinkPurpose, number>;

export interface NewLink {
  purpose: LinkPurpose;
  email: string;
  /** Name and hashed password of a waiting sign-up. */
  name?: string;
  passwordHash?: string;
  personId?: string;
  accountId?: string;
  role?: Role;
  invitedBy?: string;
  channelId?: string;
  now: Date;
  lifeMs?: number;
  /** A token made before the link; a new one without it. */
  token?: string;
}

export interface IssuedLink {
  id: string;
  /** Exists only here and in the mail or terminal that shows it. */
  token: string;
  expiresAt: Date;
}

const uuid = createUuidV7();

/** The worker removes expired links. */
const insertLinkSql = `
  INSERT INTO one_time_link
    (hash, id, purpose, email, name, password, person_id, account_id, role, invited_by, channel_id, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

export async function createLink(client: Pick<pg.ClientBase, "query">, link: NewLink): Promise<IssuedLink> {
  const { purpose, email, name, passwordHash, personId, accountId, role, invitedBy, channelId, now } = link;
  const token = link.token ?? createToken();
  const id = uuid();
  const expiresAt = new Date(now.getTime() + (link.lifeMs ?? linkLifeMs[purpose]));
  const subject = [purpose, email, name, passwordHash, personId, accountId, role, invitedBy, channelId];
  const values = [hashToken(token), id, ...subject.map((value) => value ?? null), now, expiresAt];
  await client.query(insertLinkSql, values);
  return { id, token, expiresAt };
}

export interface LiveLink {
  purpose: LinkPurpose;
  email: string;
  name: string | null;
  password: string | null;
  personId: string | null;
  accountId: string | null;
  accountName: string | null;
  role: Role | null;
  inviter: string | null;
  channelId: string | null;
  knownId: string | null;
}

/** Probes `one_time_link_pkey`, `account_pkey`, `person_email_key` and `person_pkey`. */
const findLinkSql = `
  SELECT l.purpose, l.email, l.name, l.password, l.person_id AS "personId", l.account_id AS "accountId", l.role,
    COALESCE(a.name, a.email) AS "accountName", inviter.name AS inviter, l.channel_id AS "channelId", known.id AS "knownId"
  FROM one_time_link l LEFT JOIN account a ON a.id = l.account_id
    LEFT JOIN person known ON known.email = l.email LEFT JOIN person inviter ON inviter.id = l.invited_by
  WHERE l.hash = $1 AND l.used_at IS NULL AND l.expires_at > $2`;

export async function findLink(pool: pg.Pool, token: string, now: Date): Promise<LiveLink | undefined> {
  const { rows } = await pool.query<LiveLink>(findLinkSql, [hashToken(token), now]);
  return rows[0];
}

/** Uses a link up, once: of two at the same time the second one finds `used_at` set. A probe of `one_time_link_pkey`. */
const takeLinkSql =
  "UPDATE one_time_link SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING id";

/** @returns whether the link worked until now */
export async function takeLink(client: pg.ClientBase, token: string, now: Date): Promise<boolean> {
  const { rowCount } = await client.query(takeLinkSql, [hashToken(token), now]);
  return rowCount === 1;
}

/** Beyond these further mails bring nothing: each of the earlier links still works. */
const maxLiveLinks = 10;

/** A range of `one_time_link_email_idx`. */
const countLinksSql = `
  SELECT count(*)::int AS links FROM one_time_link
  WHERE email = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3`;

/** Whether an address has as many links of a purpose as it needs, so that strangers cannot fill its mailbox. */
export async function hasEnoughLinks(
  client: Pick<pg.ClientBase, "query">,
  { email, purpose, now }: Pick<NewLink, "email" | "purpose" | "now">,
): Promise<boolean> {
  const { rows } = await client.query<{ links: number }>(countLinksSql, [email, purpose, now]);
  return (rows[0]?.links ?? 0) >= maxLiveLinks;
}

/** A range of `one_time_link_email_idx`. */
const dropSignUpsSql = "DELETE FROM one_time_link WHERE email = $1 AND purpose = 'verify' AND used_at IS NULL";

/** Removes an address's other sign-ups: they carry other people's passwords. */
export async function dropSignUps(client: pg.ClientBase, email: string): Promise<void> {
  await client.query(dropSignUpsSql, [email]);
}

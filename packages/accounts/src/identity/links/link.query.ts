import { createUuidV7, type Queryable, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { addPerson, findPersonByEmail, joinAccount } from "../people/person.query.js";
import type { Role } from "../sessions/session.query.js";
import { createToken, hashToken } from "../token.js";

export type LinkPurpose = "verify" | "reset" | "invite" | "sign_in" | "channel";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

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

const uuid = createUuidV7();

const insertLinkSql = `
  INSERT INTO one_time_link
    (hash, id, purpose, email, name, password, person_id, account_id, role, invited_by, channel_id, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

/** The token exists only in this answer and in the mail or terminal that shows it. The worker removes expired links. */
export async function createLink(client: Queryable, link: NewLink) {
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
async function hasEnoughLinks(
  client: Queryable,
  { email, purpose, now }: Pick<NewLink, "email" | "purpose" | "now">,
): Promise<boolean> {
  const { rows } = await client.query<{ links: number }>(countLinksSql, [email, purpose, now]);
  return (rows[0]?.links ?? 0) >= maxLiveLinks;
}

const lockLinksSql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/** Makes a link that a stranger may ask for. One at a time for an address; undefined where it has enough. */
export function createLinkIfFew(pool: pg.Pool, link: NewLink) {
  return withTransaction(pool, async (client) => {
    await client.query(lockLinksSql, [`${link.purpose} ${link.email}`]);
    return (await hasEnoughLinks(client, link)) ? undefined : createLink(client, link);
  });
}

/** Removes an address's other sign-ups: they carry other people's passwords. */
export async function dropSignUps(client: pg.ClientBase, email: string): Promise<void> {
  const sql = "DELETE FROM one_time_link WHERE email = $1 AND purpose = 'verify' AND used_at IS NULL";
  await client.query(sql, [email]);
}

/** Uses up all of an address's invitations, each once. A range of `one_time_link_email_idx`. */
const takeInvitationsSql = `
  WITH taken AS (
    UPDATE one_time_link SET used_at = $2
    WHERE email = $1 AND purpose = 'invite' AND used_at IS NULL AND expires_at > $2
    RETURNING account_id, role, created_at)
  SELECT account_id AS "accountId", role FROM taken ORDER BY created_at DESC`;

/** @returns the invitations, the newest first */
export async function takeInvitations(client: pg.ClientBase, email: string, now: Date) {
  return (await client.query<{ accountId: string; role: Role }>(takeInvitationsSql, [email, now])).rows;
}

const maxPerAccount = 20;
const retryAfterSeconds = 86_400;

/** A range of `one_time_link_account_id_idx`. */
const countSql = `
  SELECT count(*)::int AS links FROM one_time_link
  WHERE account_id = $1 AND purpose = 'channel' AND used_at IS NULL AND expires_at > $2`;

/** Makes the link by which a stranger's address takes alerts, under the account's lock. @throws AppError 429 */
export async function createChannelLink(
  client: pg.ClientBase,
  { email, accountId, channelId }: Record<"email" | "accountId" | "channelId", string>,
): Promise<string> {
  const now = new Date();
  const { rows } = await client.query<{ links: number }>(countSql, [accountId, now]);
  const isFull = (rows[0]?.links ?? 0) >= maxPerAccount;
  if (isFull || (await hasEnoughLinks(client, { email, purpose: "channel", now }))) {
    const reason = `At most ${isFull ? `${maxPerAccount} links of an account` : "10 links to an address"} a day.`;
    const headers = { "Retry-After": String(retryAfterSeconds) };
    throw new AppError("rate_limited", { details: { retry_after: retryAfterSeconds, reason }, headers });
  }
  return (await createLink(client, { purpose: "channel", email, accountId, channelId, now })).token;
}

interface SignInLinkOptions extends Pick<NewLink, "lifeMs" | "now"> {
  pool: pg.Pool;
  account: { id: string; email: string };
  /** The person; the account's first owner without it. Becomes the owner of an account without people. */
  email?: string;
  dashboardUrl: string;
}

/** The person with an address, or the first owner. A range of `membership_pkey`, with probes of `person_pkey`. */
const findPersonSql = `
  SELECT p.id, p.email FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.account_id = $1 AND CASE WHEN $2::text IS NULL THEN m.role = 'owner' ELSE p.email = $2 END
  ORDER BY m.created_at, p.id LIMIT 1`;

/** It signs in once, after a click. An account without people gets an owner; undefined without the address. */
export async function createSignInLink({ pool, account, dashboardUrl, ...options }: SignInLinkOptions) {
  return withTransaction(pool, async (client) => {
    // Two commands at once must not make two owners.
    await client.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [account.id]);
    const wanted = options.email?.trim().toLowerCase();
    const { rows } = await client.query<{ id: string; email: string }>(findPersonSql, [account.id, wanted ?? null]);
    const person = rows[0] ?? (await makeOwner(client, account.id, wanted ?? account.email));
    if (!person) return undefined;
    const { id: personId, email } = person;
    const link = { ...options, purpose: "sign_in", email, personId, accountId: account.id } as const;
    const { token, expiresAt } = await createLink(client, link);
    return { url: linkUrl(dashboardUrl, token), email, expiresAt };
  });
}

async function makeOwner(client: pg.ClientBase, accountId: string, email: string) {
  const { rowCount } = await client.query("SELECT FROM membership WHERE account_id = $1 LIMIT 1", [accountId]);
  if (rowCount !== 0) return undefined;
  const known = await findPersonByEmail(client, email);
  const id = known?.id ?? (await addPerson(client, { email, name: email.split("@")[0] ?? email }));
  if (id === undefined) throw new Error("The address got a person in this moment; try again");
  await joinAccount(client, { accountId, personId: id, role: "owner" });
  return { id, email };
}

export function linkUrl(dashboardUrl: string, token: string): string {
  return `${dashboardUrl.replace(/\/+$/, "")}/dashboard/link/${token}`;
}

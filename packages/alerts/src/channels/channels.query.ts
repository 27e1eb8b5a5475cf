import { createUuidV7, isUuid, textTimes, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { requirePlan } from "../alert-rule.js";
import { openRouting, requireRoom } from "./alert-settings.query.js";
import { type ChannelInput, createSecret, maxChannelsPerAccount, readChannel } from "./channel.js";
import { deliveryIdOf } from "./claim-delivery.query.js";
import { type ChannelKind, kinds, maskAddress } from "./kinds.js";

const uuid = createUuidV7();

/** Makes the link that confirms a channel, and returns its token. @throws AppError 429 */
export type CreateChannelLink = (
  transaction: pg.ClientBase,
  channel: { email: string; accountId: string; channelId: string },
) => Promise<string>;

interface ChannelRow {
  id: string;
  kind: ChannelKind;
  to: string;
  agents: string[];
  statuses: string[];
  recovered: boolean;
  /** A waiting one gets nothing but the mail with its link. */
  state: "active" | "waiting" | "ended";
  /** Why it ended, or why its last delivery failed. */
  last_error: string | null;
  pending: number;
  failed: number;
  /** Events beyond the bound of pending ones. */
  skipped: number;
  created_at: Date;
}

const insertSql = `
  INSERT INTO channel (account_id, id, kind, address, secret, agents, statuses, recovered, is_confirmed)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

// A proven address of somebody in the account, or its own. Probes of `account_pkey`, `person_email_key`, `membership_pkey`.
const isOwnAddressSql = `
  SELECT EXISTS (SELECT FROM account WHERE id = $1 AND email = $2) OR EXISTS (
    SELECT FROM person p JOIN membership m ON m.person_id = p.id
    WHERE p.email = $2 AND p.is_verified AND m.account_id = $1) AS "isOwn"`;

/**
 * Creates a channel: failures from now on go there; to a stranger's address of mail once its link is used, unless the caller
 * vouches for it. @throws AppError 400 for a wrong field or an account without alerts, 409 for an account with 20 channels
 */
export async function createChannel(
  pool: pg.Pool,
  accountId: string,
  input: ChannelInput,
  createLink?: CreateChannelLink,
) {
  const { kind, to, agents, statuses, recovered } = readChannel(input);
  const secret = kinds[kind].isSigned ? createSecret() : undefined;
  const id = uuid();
  return withTransaction(pool, async (transaction) => {
    await requirePlan(transaction, accountId, "Channels");
    await openRouting(transaction, accountId);
    const channelsSql = "SELECT FROM channel WHERE account_id = $1";
    await requireRoom(transaction, channelsSql, [accountId], { limit: maxChannelsPerAccount, what: "channels" });
    const { rows } = await transaction.query<{ isOwn: boolean }>(isOwnAddressSql, [accountId, to]);
    const isConfirmed = !kinds[kind].needsConsent || createLink === undefined || rows[0]?.isOwn === true;
    const values = [accountId, id, kind, to, secret ?? null, agents, statuses, recovered, isConfirmed];
    await transaction.query(insertSql, values);
    if (!isConfirmed) await sendLink(transaction, { accountId, channelId: id, email: to }, createLink);
    // A stranger's address of mail waits: a link is on its way.
    const state = isConfirmed ? {} : { state: "waiting" as const };
    return { id, kind, to, ...(secret === undefined ? {} : { secret }), ...state };
  });
}

const insertLinkSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, content)
  SELECT id, $2, $3, 'confirm', json_build_object('token', $4::text, 'account', email) FROM account WHERE id = $1`;

/** Has the worker mail a link, which confirms the channel and nothing else. */
async function sendLink(
  transaction: pg.ClientBase,
  channel: { accountId: string; channelId: string; email: string },
  createLink: CreateChannelLink,
): Promise<void> {
  const token = await createLink(transaction, channel);
  await transaction.query(insertLinkSql, [channel.accountId, uuid(), channel.channelId, token]);
}

/** Mails a waiting channel's link again. @throws AppError 404, also for a channel that waits for none, and 429 */
export function resendChannelLink(pool: pg.Pool, channel: ChannelReference, createLink: CreateChannelLink) {
  const { channelId } = channel;
  return withTransaction(pool, async (transaction) => {
    const { accountId, isConfirmed, address } = await findChannel(transaction, channel);
    if (isConfirmed || address === null) throw new AppError("channel_not_found");
    await requirePlan(transaction, accountId, "Channels");
    await openRouting(transaction, accountId);
    await sendLink(transaction, { accountId, channelId, email: address }, createLink);
    return { id: channelId };
  });
}

/** Alerts go to the channel from now on. A probe of `channel_id_key`. @throws AppError 404 */
export async function confirmChannel(
  client: Pick<pg.ClientBase, "query">,
  { accountId, channelId: id }: ChannelReference,
): Promise<{ id: string }> {
  const sql = "UPDATE channel SET is_confirmed = true WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)";
  const isThere = isUuid(id) && (await client.query(sql, [id, accountId ?? null])).rowCount === 1;
  if (!isThere) throw new AppError("channel_not_found");
  return { id };
}

// The account's channels, oldest first. Its own comes from the account while no settings exist. A range of `channel_pkey`; of
// each channel's deliveries the pending ones, and the newest 1,000.
const listSql = `
  SELECT c.id, c.kind, COALESCE(c.address, account.email) AS "to", c.agents, c.statuses, c.recovered,
    CASE WHEN c.disabled_at IS NOT NULL THEN 'ended' WHEN c.is_confirmed THEN 'active' ELSE 'waiting' END AS state,
    COALESCE(c.disabled_reason, newest.last_error) AS last_error,
    (SELECT count(*)::int FROM delivery d
      WHERE d.account_id = c.account_id AND d.channel_id = c.id AND d.sent_at IS NULL AND d.failed_at IS NULL) AS pending,
    newest.failed, c.skipped::int AS skipped, c.created_at
  FROM account JOIN (
    SELECT account_id, id, kind, address, agents, statuses, recovered, disabled_at, disabled_reason, skipped, created_at,
      is_confirmed
    FROM channel
    UNION ALL
    SELECT a.id, a.id, 'mail', NULL, '{}', '{}', false, NULL, NULL, 0, a.created_at, true FROM account a
    WHERE NOT EXISTS (SELECT FROM alert_settings s WHERE s.account_id = a.id)
  ) AS c ON c.account_id = account.id
  CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE failed_at IS NOT NULL))::int AS failed,
      left((array_agg(last_error ORDER BY event_id DESC) FILTER (WHERE begun_at IS NOT NULL))[1], 1000) AS last_error
    FROM (
      SELECT event_id, begun_at, failed_at, last_error FROM delivery d
      WHERE d.account_id = c.account_id AND d.channel_id = c.id ORDER BY event_id DESC LIMIT 1000
    ) AS d
  ) AS newest
  WHERE account.id = $1
  ORDER BY c.id <> c.account_id, c.id`;

export async function listChannels(pool: pg.Pool, accountId: string) {
  const { rows } = await pool.query<ChannelRow>(listSql, [accountId]);
  return rows.map((row) => textTimes({ ...row, to: maskAddress(row.kind, row.to) }));
}

interface ChannelReference {
  /** An operator may name no account. */
  accountId?: string | undefined;
  channelId: string;
}

// A probe of `channel_id_key`, or the account's own channel without settings.
const findSql = `
  SELECT account_id AS "accountId", kind, address, disabled_at IS NOT NULL AS "isEnded", is_confirmed AS "isConfirmed" FROM (
    SELECT account_id, id, kind, address, disabled_at, is_confirmed FROM channel
    UNION ALL
    SELECT id, id, 'mail', NULL, NULL, true FROM account WHERE NOT EXISTS (SELECT FROM alert_settings s WHERE s.account_id = account.id)
  ) AS c
  WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)`;

interface FoundChannel {
  accountId: string;
  kind: ChannelKind;
  /** Null for the account's own. */
  address: string | null;
  isEnded: boolean;
  isConfirmed: boolean;
}

async function findChannel(client: pg.ClientBase, { channelId, accountId }: ChannelReference): Promise<FoundChannel> {
  const values = [channelId, accountId ?? null];
  const { rows } = isUuid(channelId) ? await client.query<FoundChannel>(findSql, values) : { rows: [] };
  if (!rows[0]) throw new AppError("channel_not_found");
  return rows[0];
}

// Tests that went out stay: they count for an hour.
const deleteDeliveriesSql = `
  DELETE FROM delivery WHERE account_id = $1 AND channel_id = $2 AND (type <> 'test' OR sent_at IS NULL)`;

// Nobody is told of the alerts whose mail waits. Ranges of `alert_turn_idx` and `alert_summary_id_idx`.
const endOwnMailsSql = `
  UPDATE alert SET sent_at = now(), last_error = 'The channel is gone'
  WHERE account_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND (routed_at IS NOT NULL OR held_until IS NOT NULL)`;

/** Deletes a channel with its deliveries. The account's own one, too: its mails end. @throws AppError 404 */
export function deleteChannel(pool: pg.Pool, channel: ChannelReference) {
  const { channelId } = channel;
  return withTransaction(pool, async (transaction) => {
    const { accountId, kind } = await findChannel(transaction, channel);
    await openRouting(transaction, accountId);
    const values = [accountId, channelId];
    await transaction.query("DELETE FROM channel WHERE account_id = $1 AND id = $2", values);
    await transaction.query(deleteDeliveriesSql, values);
    if (channelId === accountId) await transaction.query(endOwnMailsSql, [accountId]);
    return { id: channelId, kind };
  });
}

const insertTestSql = "INSERT INTO delivery (account_id, event_id, channel_id, type) VALUES ($1, $2, $3, 'test')";

const maxTests = { channel: 5, account: 20 };

// A range of `delivery_channel_idx`: finished tests do not pile up.
const forgetTestsSql = `
  DELETE FROM delivery WHERE account_id = $1 AND channel_id = $2 AND type = 'test'
    AND event_id < uuid_floor(now() - interval '1 hour') AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)`;

// The tests of the last hour, of the channel and of all. A range of `delivery_pkey`.
const countTestsSql = `
  SELECT count(*)::int AS account, (count(*) FILTER (WHERE channel_id = $2))::int AS channel FROM delivery
  WHERE account_id = $1 AND event_id >= uuid_floor(now() - interval '1 hour') AND type = 'test'`;

async function admitTest(transaction: pg.ClientBase, accountId: string, channelId: string): Promise<void> {
  await transaction.query(forgetTestsSql, [accountId, channelId]);
  const { rows } = await transaction.query<typeof maxTests>(countTestsSql, [accountId, channelId]);
  const { account = 0, channel = 0 } = rows[0] ?? {};
  if (channel < maxTests.channel && account < maxTests.account) return;
  const reason = `At most ${maxTests.channel} tests of a channel and ${maxTests.account} of an account an hour.`;
  const details = { retry_after: 3_600, reason };
  throw new AppError("rate_limited", { details, headers: { "Retry-After": "3600" } });
}

/** Has the worker send an event `test`. @throws AppError 404, 409 for a channel that takes none, 400, 429 */
export function testChannel(pool: pg.Pool, channel: ChannelReference) {
  const { channelId } = channel;
  return withTransaction(pool, async (transaction) => {
    const { accountId, isEnded, isConfirmed } = await findChannel(transaction, channel);
    if (isEnded) throw new AppError("channel_ended");
    if (!isConfirmed) throw new AppError("channel_waiting");
    await requirePlan(transaction, accountId, "Channels");
    await openRouting(transaction, accountId);
    await admitTest(transaction, accountId, channelId);
    const eventId = uuid();
    await transaction.query(insertTestSql, [accountId, eventId, channelId]);
    return { id: channelId, delivery_id: deliveryIdOf({ accountId, eventId, channelId }) };
  });
}

interface DeliveryRow {
  id: string;
  type: string;
  trace_id: string | null;
  state: "pending" | "sent" | "failed";
  failures: number;
  attempts: number;
  last_error: string | null;
  created_at: Date;
  due_at: Date;
  sent_at: Date | null;
  failed_at: Date | null;
}

// A range of `delivery_channel_idx`, newest first. A mail of the account's own has its trace in the alert, a probe of `alert_pkey`.
const listDeliveriesSql = `
  SELECT event_id || '_' || channel_id AS id, type,
    COALESCE(trace_id, (SELECT trace_id FROM alert a WHERE a.account_id = $1 AND a.id = event_id)) AS trace_id,
    CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'pending' END AS state,
    failures, attempts, left(last_error, 1000) AS last_error, created_at, due_at, sent_at, failed_at
  FROM delivery WHERE account_id = $1 AND channel_id = $2 AND (NOT $3 OR failed_at IS NOT NULL)
  ORDER BY event_id DESC LIMIT $4`;

export function listDeliveries(
  pool: pg.Pool,
  { failed, limit, ...channel }: ChannelReference & { failed: boolean; limit: number },
) {
  return withTransaction(pool, async (transaction) => {
    const { accountId } = await findChannel(transaction, channel);
    const values = [accountId, channel.channelId, failed, limit];
    const { rows } = await transaction.query<DeliveryRow>(listDeliveriesSql, values);
    return rows.map(textTimes);
  });
}

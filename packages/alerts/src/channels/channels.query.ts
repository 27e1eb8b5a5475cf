import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { plansWithAlerts } from "../alert-rule.js";
import { openRouting } from "./alert-settings.query.js";
import {
  type ChannelInput,
  type ChannelKind,
  createSecret,
  maskAddress,
  maxChannelsPerAccount,
  readChannel,
} from "./channel.js";
import { deliveryIdOf } from "./claim-delivery.query.js";

const uuid = createUuidV7();

interface ListedChannel {
  id: string;
  kind: ChannelKind;
  to: string;
  agents: string[];
  statuses: string[];
  recovered: boolean;
  state: "active" | "ended";
  /** Why it ended, or why its last delivery failed. */
  last_error: string | null;
  pending: number;
  failed: number;
  /** Events beyond the bound of pending ones. */
  skipped: number;
  created_at: string;
}

interface CreatedChannel {
  id: string;
  kind: ChannelKind;
  to: string;
  secret?: string;
}

// Probes of primary keys.
const findPlanSql = "SELECT plan = ANY ($2) AS has FROM account WHERE id = $1";
const insertSql = `
  INSERT INTO channel (account_id, id, kind, address, secret, agents, statuses, recovered)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

/**
 * Creates a channel: failures from now on go there.
 * @throws AppError 400 for a wrong field or an account without alerts, 409 for an account with 20 channels
 */
export async function createChannel(pool: pg.Pool, accountId: string, input: ChannelInput): Promise<CreatedChannel> {
  const { kind, to, agents, statuses, recovered } = readChannel(input);
  const secret = kind === "webhook" ? createSecret() : undefined;
  const id = uuid();
  return withTransaction(pool, async (transaction) => {
    const { rows: plans } = await transaction.query<{ has: boolean }>(findPlanSql, [accountId, plansWithAlerts]);
    if (!plans[0]?.has) throw new AppError("validation_failed", { details: { reason: "Channels need the Pro plan." } });
    await openRouting(transaction, accountId);
    const { rowCount } = await transaction.query("SELECT FROM channel WHERE account_id = $1", [accountId]);
    if ((rowCount ?? 0) >= maxChannelsPerAccount) {
      const reason = `An account has at most ${maxChannelsPerAccount} channels.`;
      throw new AppError("account_full", { details: { limit: maxChannelsPerAccount, reason } });
    }
    const values = [accountId, id, kind, to, secret ?? null, agents, statuses, recovered];
    await transaction.query(insertSql, values);
    return { id, kind, to, ...(secret === undefined ? {} : { secret }) };
  });
}

// The account's channels, oldest first. Its own comes from the account while no settings exist. A range of `channel_pkey`; of
// each channel's deliveries the pending ones, and the newest 1,000.
const listSql = `
  SELECT c.id, c.kind, COALESCE(c.address, account.email) AS "to", c.agents, c.statuses, c.recovered,
    CASE WHEN c.disabled_at IS NULL THEN 'active' ELSE 'ended' END AS state,
    COALESCE(c.disabled_reason, newest.last_error) AS last_error,
    (SELECT count(*)::int FROM delivery d
      WHERE d.account_id = c.account_id AND d.channel_id = c.id AND d.sent_at IS NULL AND d.failed_at IS NULL) AS pending,
    newest.failed, c.skipped::int AS skipped, c.created_at
  FROM account JOIN (
    SELECT account_id, id, kind, address, agents, statuses, recovered, disabled_at, disabled_reason, skipped, created_at FROM channel
    UNION ALL
    SELECT a.id, a.id, 'mail', NULL, '{}', '{}', false, NULL, NULL, 0, a.created_at FROM account a
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

export async function listChannels(pool: pg.Pool, accountId: string): Promise<ListedChannel[]> {
  const { rows } = await pool.query<ListedChannel & { created_at: Date }>(listSql, [accountId]);
  return rows.map(({ created_at, ...row }) => {
    return { ...row, to: maskAddress(row.kind, row.to), created_at: created_at.toISOString() };
  });
}

interface ChannelReference {
  /** An operator may name no account. */
  accountId?: string | undefined;
  channelId: string;
}

// A probe of `channel_id_key`, or the account's own channel without settings.
const findSql = `
  SELECT account_id AS "accountId", kind, disabled_at IS NOT NULL AS "isEnded" FROM (
    SELECT account_id, id, kind, disabled_at FROM channel
    UNION ALL
    SELECT id, id, 'mail', NULL FROM account WHERE NOT EXISTS (SELECT FROM alert_settings s WHERE s.account_id = account.id)
  ) AS c
  WHERE id = $1 AND ($2::uuid IS NULL OR account_id = $2)`;

interface FoundChannel {
  accountId: string;
  kind: ChannelKind;
  isEnded: boolean;
}

async function findChannel(client: pg.ClientBase, { channelId, accountId }: ChannelReference): Promise<FoundChannel> {
  const values = [channelId, accountId ?? null];
  const { rows } = isUuid(channelId) ? await client.query<FoundChannel>(findSql, values) : { rows: [] };
  if (!rows[0]) throw new AppError("channel_not_found");
  return rows[0];
}

/** Deletes a channel with its deliveries. The account's own one, too: its mails end. @throws AppError 404 */
export function deleteChannel(pool: pg.Pool, channel: ChannelReference): Promise<{ id: string; kind: ChannelKind }> {
  const { channelId } = channel;
  return withTransaction(pool, async (transaction) => {
    const { accountId, kind } = await findChannel(transaction, channel);
    await openRouting(transaction, accountId);
    const values = [accountId, channelId];
    await transaction.query("DELETE FROM channel WHERE account_id = $1 AND id = $2", values);
    await transaction.query("DELETE FROM delivery WHERE account_id = $1 AND channel_id = $2", values);
    return { id: channelId, kind };
  });
}

const insertTestSql = "INSERT INTO delivery (account_id, event_id, channel_id, type) VALUES ($1, $2, $3, 'test')";

/** Has the worker send an event `test` to a channel. @throws AppError 404, 409 for a channel that ended */
export function testChannel(pool: pg.Pool, channel: ChannelReference): Promise<{ id: string; delivery_id: string }> {
  const { channelId } = channel;
  return withTransaction(pool, async (transaction) => {
    const { accountId, isEnded } = await findChannel(transaction, channel);
    if (isEnded) throw new AppError("channel_ended");
    await openRouting(transaction, accountId);
    const eventId = uuid();
    await transaction.query(insertTestSql, [accountId, eventId, channelId]);
    return { id: channelId, delivery_id: deliveryIdOf({ accountId, eventId, channelId }) };
  });
}

interface ListedDelivery {
  id: string;
  type: string;
  trace_id: string | null;
  state: "pending" | "sent" | "failed";
  failures: number;
  attempts: number;
  last_error: string | null;
  created_at: string;
  due_at: string;
  sent_at: string | null;
  failed_at: string | null;
}

// A range of `delivery_channel_idx`, newest first.
const listDeliveriesSql = `
  SELECT event_id || '_' || channel_id AS id, type, trace_id,
    CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'pending' END AS state,
    failures, attempts, left(last_error, 1000) AS last_error, created_at, due_at, sent_at, failed_at
  FROM delivery WHERE account_id = $1 AND channel_id = $2 AND (NOT $3 OR failed_at IS NOT NULL)
  ORDER BY event_id DESC LIMIT $4`;

/** A channel's deliveries, newest first. @throws AppError 404 */
export function listDeliveries(
  pool: pg.Pool,
  { failed, limit, ...channel }: ChannelReference & { failed: boolean; limit: number },
): Promise<ListedDelivery[]> {
  return withTransaction(pool, async (transaction) => {
    const { accountId } = await findChannel(transaction, channel);
    const { rows } = await transaction.query(listDeliveriesSql, [accountId, channel.channelId, failed, limit]);
    const text = (time: Date | null) => time?.toISOString() ?? null;
    return rows.map(({ created_at, due_at, sent_at, failed_at, ...row }) => {
      const times = { sent_at: text(sent_at), failed_at: text(failed_at) };
      return { ...row, created_at: created_at.toISOString(), due_at: due_at.toISOString(), ...times };
    });
  });
}

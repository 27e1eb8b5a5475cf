import { withTransaction } from "@waymark/database";
import { readTraceFailures } from "@waymark/traces";
import type pg from "pg";
import { eachAccount } from "../turns.js";
import { adoptMails } from "./adopt-mails.query.js";
import { collectDigests, digestKey } from "./collect-digests.query.js";
import { kindsWithEach } from "./kinds.js";
import { noteFailing } from "./recoveries.query.js";
import { isFor, type RoutedAlert, type RoutingChannel } from "./routing.js";

interface ChannelLimits {
  /** Messages of a channel for people in an hour; a digest reports the failures above. */
  perHour: number;
  /** Deliveries that a channel with each failure is owed; it counts the events above. */
  pending: number;
}

const maxAlertsTogether = 500;

/** One that a worker of a release before has begun to mail is adopted. */
const isUnroutedSql = `sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL AND routed_at IS NULL
      AND allowed_at IS NULL`;

/** More alerts than one call routes. */
const unlimited = 2_147_483_647;

// Accounts with an alert to route: a range of `alert_turn_idx` or all of it, past routed ones.
const findAccountsSql = `
  SELECT account_id AS "accountId", EXISTS (
    SELECT FROM alert_settings s WHERE s.account_id = unrouted.account_id) AS "hasSettings"
  FROM (
    SELECT DISTINCT account_id FROM alert
    WHERE ($1::uuid IS NULL OR account_id = $1) AND ${isUnroutedSql}
  ) AS unrouted`;

// An account's alerts with their agents. A range of `alert_turn_idx`; each trace is a probe of `trace_pkey`.
const findAlertsSql = `
  SELECT a.id, a.trace_id AS "traceId", a.status, a.failures, (extract(epoch FROM a.created_at) * 1000000)::int8 AS "createdAt",
    t.agent_id AS "agentId"
  FROM (
    SELECT * FROM alert WHERE account_id = $1 AND ${isUnroutedSql}
    ORDER BY due_at LIMIT $2
  ) AS a LEFT JOIN trace t ON t.account_id = a.account_id AND t.id = a.trace_id`;

// Locks the settings: one worker at a time routes an account's alerts.
const lockSettingsSql = `
  SELECT mode, window_seconds AS "windowSeconds" FROM alert_settings WHERE account_id = $1 FOR UPDATE`;

// The active channels, without those that wait for their address. A webhook's room is by what it is owed (`delivery_owed_idx`),
// that of others by their last hour (`delivery_channel_idx`). The account's own takes all: its limits count when a mail begins.
const readChannelsSql = `
  SELECT c.id, c.kind = ANY ($4) AS "getsEach", c.id = c.account_id AS "isOwn", c.agents, c.statuses,
    (extract(epoch FROM c.created_at) * 1000000)::int8 AS "createdAt",
    CASE WHEN c.id = c.account_id THEN ${unlimited} WHEN c.kind = ANY ($4) THEN $3 - (
      SELECT count(*) FROM delivery d
      WHERE d.account_id = $1 AND d.channel_id = c.id AND d.sent_at IS NULL AND d.failed_at IS NULL
    ) ELSE $2 - (
      SELECT count(*) FROM delivery d
      WHERE d.account_id = $1 AND d.channel_id = c.id AND d.event_id >= uuid_floor(now() - interval '1 day')
        AND d.created_at > now() - interval '1 hour'
    ) END::int AS room
  FROM channel c WHERE c.account_id = $1 AND c.disabled_at IS NULL AND c.is_confirmed`;

const insertDeliveriesSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, trace_id, status, failures)
  SELECT $1, n.id, $2, 'trace.failed', n."traceId", n.status, n.failures
  FROM json_to_recordset($3) AS n (id uuid, "traceId" uuid, status text, failures int)
  ON CONFLICT DO NOTHING`;

const countSkippedSql = "UPDATE channel SET skipped = skipped + $3 WHERE account_id = $1 AND id = $2";

// Probes of `alert_pkey` and `mute_pkey`. An alert without a mail of the account's own is done here.
const noteRoutedSql = `
  UPDATE alert SET routed_at = now(), sent_at = CASE r.state WHEN 'sent' THEN now() END,
    failed_at = CASE r.state WHEN 'failed' THEN now() END, last_error = r.reason, held_until = r."dueAt",
    summary_id = r."eventId"
  FROM json_to_recordset($2) AS r (id uuid, state text, reason text, "dueAt" timestamptz, "eventId" uuid)
  WHERE alert.account_id = $1 AND alert.id = r.id`;

const countMutedSql = `
  UPDATE mute SET alerts = alerts + m.count FROM (SELECT id, count(*)::int FROM unnest($2::uuid[]) AS u (id) GROUP BY id) AS m
  WHERE mute.account_id = $1 AND mute.failure_id = m.id`;

interface RoutingOptions {
  /** Undefined: all accounts. */
  accountId?: string | undefined;
  limits: ChannelLimits;
  isStopping(): boolean;
}

interface Account {
  accountId: string;
  hasSettings: boolean;
}

/**
 * Gives new alerts to the channels of their accounts: as deliveries, or into digests. Mutes take theirs away. One transaction
 * notes both the alert and its deliveries, so neither is lost or doubled. Accounts take turns. Returns the number of alerts.
 */
export async function routeAlerts(pool: pg.Pool, { accountId, limits, isStopping }: RoutingOptions): Promise<number> {
  if (accountId === undefined) await adoptMails(pool);
  let { rows: accounts } = await pool.query<Account>(findAccountsSql, [accountId ?? null]);
  let routed = 0;
  while (accounts.length > 0) {
    const more: Account[] = [];
    routed += await eachAccount(accounts, async (account) => {
      const count = isStopping() ? 0 : await routeSome(pool, account, limits);
      if (count === maxAlertsTogether) more.push(account);
      return count;
    });
    accounts = more;
  }
  return routed;
}

async function routeSome(pool: pg.Pool, account: Account, limits: ChannelLimits): Promise<number> {
  const { accountId } = account;
  const alerts = await findAlerts(pool, account);
  if (alerts.length === 0) return 0;
  return withTransaction(pool, async (client) => {
    const routing = await readRouting(client, account, limits);
    if (!routing) return 0;
    const left = await keepUnrouted(client, accountId, alerts);
    const loud = left.filter(({ isMuted, agentId }) => !isMuted && agentId !== "");
    await deliverEach(client, accountId, { ...routing, alerts: loud });
    const digests = await collectDigests(client, { accountId, alerts: loud, ...limits, ...routing });
    await noteFailing(client, accountId, loud);
    const own = routing.channels.find(({ isOwn }) => isOwn);
    const notes = left.map(({ id, agentId, isMuted }) => {
      if (agentId === "") return { id, state: "failed", reason: "The trace is gone" };
      if (isMuted) return { id, state: "sent", reason: "Muted" };
      return own
        ? { id, state: "pending", ...digests.get(digestKey({ channelId: own.id, agentId })) }
        : { id, state: "sent" };
    });
    await client.query(noteRoutedSql, [accountId, JSON.stringify(notes)]);
    const muted = left.filter(({ isMuted }) => isMuted).map(({ failure }) => failure.id);
    if (muted.length > 0) await client.query(countMutedSql, [accountId, muted]);
    return alerts.length;
  });
}

interface Routing {
  mode: string;
  windowSeconds: number;
  channels: RoutingChannel[];
}

/** An account without settings has its own channel alone. With them its lock is taken; undefined where they are gone since. */
async function readRouting(
  client: pg.ClientBase,
  { accountId, hasSettings }: Account,
  limits: ChannelLimits,
): Promise<Routing | undefined> {
  if (!hasSettings) {
    const takesAll = { agents: [], statuses: [], createdAt: 0, room: unlimited };
    return { mode: "each", windowSeconds: 0, channels: [{ id: accountId, getsEach: false, isOwn: true, ...takesAll }] };
  }
  const { rows: settings } = await client.query<Omit<Routing, "channels">>(lockSettingsSql, [accountId]);
  const values = [accountId, limits.perHour, limits.pending, kindsWithEach];
  const { rows: channels } = await client.query<RoutingChannel>(readChannelsSql, values);
  return settings[0] && { ...settings[0], channels };
}

/** Without an agent where retention removed the trace: nobody is told. Mutes and digests, which need failures, need settings. */
type Found = Omit<RoutedAlert, "failure" | "isMuted" | "agentId"> & { agentId: string | null };

async function findAlerts(pool: pg.Pool, { accountId, hasSettings }: Account): Promise<RoutedAlert[]> {
  const { rows } = await pool.query<Found>(findAlertsSql, [accountId, maxAlertsTogether]);
  const traceIds = [...new Set(rows.map(({ traceId }) => traceId))];
  const failures = hasSettings ? await readTraceFailures(pool, accountId, traceIds) : [];
  const byTrace = new Map(failures.map((failure) => [failure.traceId, failure]));
  return rows.map((alert) => {
    const { id = "", spanName = null, error = null, isMuted = false } = byTrace.get(alert.traceId) ?? {};
    const { traceId } = alert;
    const agentId = alert.agentId ?? "";
    return { ...alert, agentId, isMuted, failure: { id, agentId, spanName, error, traceId } };
  });
}

// Another worker may have routed them, and a deletion may have removed them.
const keepUnroutedSql = `
  SELECT id FROM alert WHERE account_id = $1 AND id = ANY ($2) AND ${isUnroutedSql}
  FOR NO KEY UPDATE`;

async function keepUnrouted(client: pg.ClientBase, accountId: string, alerts: RoutedAlert[]): Promise<RoutedAlert[]> {
  const { rows } = await client.query<{ id: string }>(keepUnroutedSql, [accountId, alerts.map(({ id }) => id)]);
  const left = new Set(rows.map(({ id }) => id));
  return alerts.filter(({ id }) => left.has(id));
}

async function deliverEach(
  client: pg.ClientBase,
  accountId: string,
  { alerts, channels, mode }: Routing & { alerts: readonly RoutedAlert[] },
) {
  for (const channel of channels.filter(({ getsEach }) => getsEach || mode !== "digest")) {
    const wanted = alerts.filter((alert) => isFor(channel, alert));
    const taken = wanted.slice(0, Math.max(channel.room, 0));
    if (taken.length > 0) {
      const rows = taken.map(({ id, traceId, status, failures }) => {
        return { id, traceId: channel.isOwn ? null : traceId, status, failures };
      });
      await client.query(insertDeliveriesSql, [accountId, channel.id, JSON.stringify(rows)]);
    }
    const skipped = wanted.length - taken.length;
    if (channel.getsEach && skipped > 0) await client.query(countSkippedSql, [accountId, channel.id, skipped]);
  }
}

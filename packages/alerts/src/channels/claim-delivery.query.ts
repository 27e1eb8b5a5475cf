import { createUuidV7, smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { admitMail, type MailLimits } from "./own-mail.query.js";
import { takeHeldAlerts } from "./summary.query.js";

const uuid = createUuidV7();

export interface DeliveryKey {
  accountId: string;
  eventId: string;
  channelId: string;
}

/** The id of a delivery names the event, for a failure its alert, and the channel. Attempts repeat it. */
export function deliveryIdOf({ eventId, channelId }: DeliveryKey): string {
  return `${eventId}_${channelId}`;
}

/** An alert's mail to its account, the summary of those above the limits, or another event of a channel. */
export type DeliverySort = "alert" | "summary" | "event";

/** The {@link DeliverySort} of a row of `delivery`. An account's own channel has its id. */
export const deliverySortSql = `CASE WHEN channel_id <> account_id THEN 'event' WHEN type = 'trace.failed' THEN 'alert'
    WHEN type = 'digest' AND agent_id = '' THEN 'summary' ELSE 'event' END`;

interface Claim extends DeliveryKey {
  /** Alerts that the limits hold back from now on. With some there is nothing to send. */
  held: number;
}

interface DeliveryTurn {
  /** The account of the last claim; undefined starts the round anew. */
  after: string | undefined;
  /** Told of each account that gets its turn, also where its claim then fails. */
  onTurn?(accountId: string): void;
  busyAccounts: readonly string[];
  busyChannels: readonly string[];
  areMailsBusy?: boolean;
  /** Other workers leave a claimed delivery alone for this time; an attempt takes less. */
  leaseMs: number;
  /** Also the digests of a channel in an hour; one above waits and collects. An account gets one summary. */
  limits: MailLimits;
}

// The longest due delivery of the first account after $1. Skips those in other workers' hands. A probe of `delivery_turn_idx`,
// past deliveries of later times.
const findTurnSql = `
  SELECT account_id AS "accountId", event_id AS "eventId", channel_id AS "channelId", is_collecting AS "isCollecting",
    ${deliverySortSql} AS sort
  FROM delivery
  WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now() AND account_id > $1
    AND account_id <> ALL ($2) AND channel_id <> ALL ($3) AND (NOT $4 OR channel_id <> account_id)
  ORDER BY account_id, due_at LIMIT 1
  FOR NO KEY UPDATE SKIP LOCKED`;

// When the channel may get another digest; null if it may now. A range of `delivery_channel_idx`, of two days.
const findRoomSql = `
  SELECT begun_at + interval '1 hour' AS until FROM delivery
  WHERE account_id = $1 AND channel_id = $2 AND event_id >= uuid_floor(now() - interval '2 days') AND type = 'digest'
    AND begun_at > now() - interval '1 hour'
  ORDER BY begun_at DESC OFFSET $3 - 1 LIMIT 1`;

const key = "account_id = $1 AND event_id = $2 AND channel_id = $3";
const postponeSql = `UPDATE delivery SET due_at = COALESCE($4, now() + interval '1 second') WHERE ${key}`;
// From now on a digest collects no more: every attempt sends the same.
const beginSql = `
  UPDATE delivery SET is_collecting = false, begun_at = COALESCE(begun_at, now()), due_at = now() + $4 * interval '1 millisecond'
  WHERE ${key}`;

type Turn = DeliveryKey & { isCollecting: boolean; sort: DeliverySort };

/** Claims the longest due delivery of the next account, round and round; undefined if none is due. */
export function claimDelivery(pool: pg.Pool, turn: DeliveryTurn): Promise<Claim | undefined> {
  return withTransaction(pool, async (client) => {
    let after = turn.after ?? smallestUuid;
    for (;;) {
      // Round and round: after the last account the first ones.
      const isFirst = after === smallestUuid;
      const found =
        (await findTurn(client, after, turn)) ?? (isFirst ? undefined : await findTurn(client, smallestUuid, turn));
      if (!found) return undefined;
      const { isCollecting: _, sort: __, ...delivery } = found;
      const { accountId, eventId, channelId } = delivery;
      turn.onTurn?.(accountId);
      const { mayBegin, until, held = 0 } = await admit(client, found, turn.limits);
      if (mayBegin) await client.query(beginSql, [accountId, eventId, channelId, turn.leaseMs]);
      if (mayBegin || held > 0) return { ...delivery, held };
      await client.query(postponeSql, [accountId, eventId, channelId, until]);
      after = accountId;
    }
  });
}

interface Verdict {
  mayBegin: boolean;
  /** When to look again; in a second without. */
  until?: Date | undefined;
  held?: number;
}

/** Whether the limits let a delivery begin. A summary takes its alerts with it. */
async function admit(client: pg.ClientBase, found: Turn, limits: MailLimits): Promise<Verdict> {
  const isSummary = found.sort === "summary";
  if (found.sort === "alert") {
    const { isAllowed, held } = await admitMail(client, { ...found, limits, summaryId: uuid() });
    return { mayBegin: isAllowed, held };
  }
  if (!found.isCollecting) return { mayBegin: true };
  const until = await findRoom(client, found, isSummary ? 1 : limits.perAccount);
  if (until !== undefined) return { mayBegin: false, until };
  return { mayBegin: !isSummary || (await takeHeldAlerts(client, found, uuid())) > 0 };
}

async function findTurn(client: pg.ClientBase, after: string, turn: DeliveryTurn): Promise<Turn | undefined> {
  const { busyAccounts, busyChannels, areMailsBusy = false } = turn;
  const { rows } = await client.query<Turn>(findTurnSql, [after, busyAccounts, busyChannels, areMailsBusy]);
  return rows[0];
}

async function findRoom(client: pg.ClientBase, delivery: DeliveryKey, perHour: number): Promise<Date | undefined> {
  const { rows } = await client.query<{ until: Date }>(findRoomSql, [delivery.accountId, delivery.channelId, perHour]);
  return rows[0]?.until;
}

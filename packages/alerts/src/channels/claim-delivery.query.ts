import { smallestUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import { nextTurn } from "../turns.js";

export interface DeliveryKey {
  accountId: string;
  eventId: string;
  channelId: string;
}

/** The id of a delivery names the event, for a failure its alert, and the channel. Attempts repeat it. */
export function deliveryIdOf({ eventId, channelId }: DeliveryKey): string {
  return `${eventId}_${channelId}`;
}

interface DeliveryTurn {
  /** The account of the last claim; undefined starts the round anew. */
  after: string | undefined;
  busyAccounts: readonly string[];
  busyChannels: readonly string[];
  /** Other workers leave a claimed delivery alone for this time; an attempt takes less. */
  leaseMs: number;
  /** Digests of a channel in an hour; one above waits and collects. */
  digestsPerHour: number;
}

// The longest due delivery of the first account after $1. Skips those in other workers' hands. A probe of `delivery_turn_idx`,
// past deliveries of later times.
const findTurnSql = `
  SELECT account_id AS "accountId", event_id AS "eventId", channel_id AS "channelId", is_collecting AS "isCollecting"
  FROM delivery
  WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now() AND account_id > $1
    AND account_id <> ALL ($2) AND channel_id <> ALL ($3)
  ORDER BY account_id, due_at LIMIT 1
  FOR NO KEY UPDATE SKIP LOCKED`;

// When the channel may get another digest; null if it may now. A range of `delivery_channel_idx`, of two days.
const findRoomSql = `
  SELECT begun_at + interval '1 hour' AS until FROM delivery
  WHERE account_id = $1 AND channel_id = $2 AND event_id >= uuid_floor(now() - interval '2 days') AND type = 'digest'
    AND begun_at > now() - interval '1 hour'
  ORDER BY begun_at DESC OFFSET $3 - 1 LIMIT 1`;

const key = "account_id = $1 AND event_id = $2 AND channel_id = $3";
const postponeSql = `UPDATE delivery SET due_at = $4 WHERE ${key}`;
// From now on a digest collects no more: every attempt sends the same.
const beginSql = `
  UPDATE delivery SET is_collecting = false, begun_at = COALESCE(begun_at, now()), due_at = now() + $4 * interval '1 millisecond'
  WHERE ${key}`;

type Turn = DeliveryKey & { isCollecting: boolean };

/** Claims the longest due delivery of the next account, round and round; undefined if none is due. */
export function claimDelivery(pool: pg.Pool, turn: DeliveryTurn): Promise<DeliveryKey | undefined> {
  return withTransaction(pool, async (client) => {
    let after = turn.after ?? smallestUuid;
    for (;;) {
      const found = await nextTurn(after, (from) => findTurn(client, from, turn));
      if (!found) return undefined;
      const { isCollecting, ...delivery } = found;
      const { accountId, eventId, channelId } = delivery;
      const until = isCollecting ? await findRoom(client, delivery, turn.digestsPerHour) : undefined;
      if (until === undefined) {
        await client.query(beginSql, [accountId, eventId, channelId, turn.leaseMs]);
        return delivery;
      }
      await client.query(postponeSql, [accountId, eventId, channelId, until]);
      after = accountId;
    }
  });
}

async function findTurn(client: pg.ClientBase, after: string, turn: DeliveryTurn): Promise<Turn | undefined> {
  const { rows } = await client.query<Turn>(findTurnSql, [after, turn.busyAccounts, turn.busyChannels]);
  return rows[0];
}

async function findRoom(client: pg.ClientBase, delivery: DeliveryKey, perHour: number): Promise<Date | undefined> {
  const { rows } = await client.query<{ until: Date }>(findRoomSql, [delivery.accountId, delivery.channelId, perHour]);
  return rows[0]?.until;
}

import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import {
  addToDigest,
  type DigestContent,
  emptyDigest,
  isFor,
  type RoutedAlert,
  type RoutingChannel,
} from "./routing.js";

const uuid = createUuidV7();

interface ToCollect {
  accountId: string;
  alerts: readonly RoutedAlert[];
  channels: readonly RoutingChannel[];
  mode: string;
  windowSeconds: number;
  perHour: number;
}

/** One channel's failures of one agent; of all agents, above the limit of single messages. */
interface Bucket {
  channelId: string;
  agentId: string;
  alerts: RoutedAlert[];
}

export interface Digest {
  eventId: string;
  /** Text keeps its microseconds. */
  dueAt: string;
}

export function digestKey({ channelId, agentId }: Pick<Bucket, "channelId" | "agentId">): string {
  return `${channelId} ${agentId}`;
}

// Probes of `delivery_collecting_key`; a worker that begins to send one waits.
const readCollectingSql = `
  SELECT channel_id AS "channelId", agent_id AS "agentId", event_id AS "eventId", content, failures, due_at::text AS "dueAt"
  FROM delivery
  WHERE account_id = $1 AND is_collecting
    AND (channel_id, agent_id) IN (SELECT * FROM unnest($2::uuid[], $3::text[]))
  FOR NO KEY UPDATE`;

// When a new digest is due: a window after the last one of the channel and agent; of all agents, when the channel's hour has
// room again. Probes of `delivery_digest_idx`, ranges of `delivery_channel_idx`.
const findDueSql = `
  SELECT b.channel_id AS "channelId", b.agent_id AS "agentId", GREATEST(now(), CASE b.agent_id
    WHEN '' THEN (
      SELECT created_at + interval '1 hour' FROM delivery d
      WHERE d.account_id = $1 AND d.channel_id = b.channel_id AND d.event_id >= uuid_floor(now() - interval '1 day')
        AND d.created_at > now() - interval '1 hour'
      ORDER BY created_at DESC OFFSET $5 - 1 LIMIT 1)
    ELSE (
      SELECT d.begun_at + make_interval(secs => $4) FROM delivery d
      WHERE d.account_id = $1 AND d.channel_id = b.channel_id AND d.agent_id = b.agent_id AND d.type = 'digest'
      ORDER BY d.event_id DESC LIMIT 1)
    END)::text AS "dueAt"
  FROM unnest($2::uuid[], $3::text[]) AS b (channel_id, agent_id)`;

const saveSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, content, failures, due_at, is_collecting)
  SELECT $1, n."eventId", n."channelId", 'digest', n."agentId", n.content, n.failures, n."dueAt", true
  FROM json_to_recordset($2) AS n ("eventId" uuid, "channelId" uuid, "agentId" text, content json, failures int, "dueAt" timestamptz)
  ON CONFLICT (account_id, channel_id, agent_id) WHERE is_collecting
  DO UPDATE SET content = EXCLUDED.content, failures = EXCLUDED.failures`;

/** Adds alerts to the digests of their channels, and returns these by {@link digestKey}. Under the lock of the settings. */
export async function collectDigests(client: pg.ClientBase, input: ToCollect): Promise<Map<string, Digest>> {
  const { accountId, windowSeconds, perHour } = input;
  const buckets = bucketsOf(input);
  if (buckets.length === 0) return new Map();
  const keys = [buckets.map(({ channelId }) => channelId), buckets.map(({ agentId }) => agentId)];
  type Collecting = Digest & Bucket & { content: string; failures: number };
  const { rows: collecting } = await client.query<Collecting>(readCollectingSql, [accountId, ...keys]);
  const known = new Map(collecting.map((row) => [digestKey(row), row]));
  const dueValues = [accountId, ...keys, windowSeconds, perHour];
  const { rows: due } = await client.query<Bucket & { dueAt: string }>(findDueSql, dueValues);
  const dueAt = new Map(due.map((row) => [digestKey(row), row.dueAt]));
  const digests = buckets.map(({ alerts, ...bucket }) => {
    const key = digestKey(bucket);
    const before = known.get(key);
    return {
      ...bucket,
      eventId: before?.eventId ?? uuid(),
      dueAt: before?.dueAt ?? dueAt.get(key) ?? new Date().toISOString(),
      content: alerts.reduce((sum, alert) => addToDigest(sum, alert.failure), digestOf(before?.content)),
      failures: (before?.failures ?? 0) + alerts.length,
    };
  });
  await client.query(saveSql, [accountId, JSON.stringify(digests)]);
  return new Map(digests.map(({ eventId, dueAt, ...digest }) => [digestKey(digest), { eventId, dueAt }]));
}

function digestOf(content: string | undefined): DigestContent {
  return content === undefined ? emptyDigest : JSON.parse(content);
}

function bucketsOf({ alerts, channels, mode }: ToCollect): Bucket[] {
  const buckets = new Map<string, Bucket>();
  for (const channel of channels) {
    if (channel.getsEach || (mode === "each" && channel.isOwn)) continue;
    const wanted = alerts.filter((alert) => isFor(channel, alert));
    const left = mode === "digest" ? wanted : wanted.slice(Math.max(channel.room, 0));
    for (const alert of left) {
      const key = { channelId: channel.id, agentId: mode === "digest" ? alert.agentId : "" };
      const bucket = buckets.get(digestKey(key)) ?? { ...key, alerts: [] };
      bucket.alerts.push(alert);
      buckets.set(digestKey(key), bucket);
    }
  }
  return [...buckets.values()];
}

import type { DigestGroup } from "./digest.js";

/** A new alert on its way to the account's channels. */
export interface RoutedAlert {
  id: string;
  traceId: string;
  status: string;
  failures: number;
  /** In microseconds, as Postgres keeps it. */
  createdAt: number;
  agentId: string;
  failure: Omit<DigestGroup, "count">;
  isMuted: boolean;
}

export interface RoutingChannel {
  id: string;
  /** Its kind gets each failure, by itself and above every limit. */
  getsEach: boolean;
  /** The account's own address. */
  isOwn: boolean;
  agents: string[];
  statuses: string[];
  createdAt: number;
  /** New deliveries that it has room for. */
  room: number;
}

/** Whether a channel asks for an alert; one from before the channel is none of its. */
export function isFor(channel: RoutingChannel, { agentId, status, createdAt }: RoutedAlert): boolean {
  const { agents, statuses } = channel;
  if (!channel.isOwn && createdAt < channel.createdAt) return false;
  return (agents.length === 0 || agents.includes(agentId)) && (statuses.length === 0 || statuses.includes(status));
}

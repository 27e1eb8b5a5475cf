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

export interface DigestGroup {
  /** The failure's id; empty where it is not known. */
  id: string;
  agentId: string;
  spanName: string | null;
  error: string | null;
  count: number;
  /** The newest. */
  traceId: string;
}

/** What a digest reports. `others` counts traces of further groups. */
export interface DigestContent {
  groups: DigestGroup[];
  others: number;
}

const maxGroups = 50;

export const emptyDigest: DigestContent = { groups: [], others: 0 };

export function addToDigest(digest: DigestContent, failure: Omit<DigestGroup, "count">): DigestContent {
  const { groups, others } = digest;
  const at = groups.findIndex(({ id, agentId }) => id === failure.id && agentId === failure.agentId);
  const known = groups[at];
  if (known) return { groups: groups.with(at, { ...known, count: known.count + 1, traceId: failure.traceId }), others };
  if (groups.length >= maxGroups) return { groups, others: others + 1 };
  return { groups: [...groups, { ...failure, count: 1 }], others };
}

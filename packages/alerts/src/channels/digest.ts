/** Failed traces of a digest that went wrong in the same way. */
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

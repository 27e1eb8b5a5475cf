/** Limits of the rows waiting for one kind of statement. Beyond them, failing fast beats waiting. */
const waitingLimits = {
  /** A few tenths of a second of work. */
  rows: 2_000,
  /** Such as the spans of batches: some two seconds of work. */
  count: 50_000,
  /** Opaque JSON: large bodies must not fill the memory in few rows. */
  bytes: 32 * 1_048_576,
} as const;

const ownerShare = 1 / 4;

type Limit = keyof typeof waitingLimits;

export type WaitingLimits = Readonly<Record<Limit, number>>;

export interface Refusal {
  limit: Limit;
  /** Whether one owner used up its share or all owners together used up the queue. */
  scope: "owner" | "all";
  max: number;
}

interface Load {
  rows: number;
  count: number;
  bytes: number;
}

/** The limits of a queue; `maxRows` replaces the default of 2,000 rows. */
export function waitingLimitsOf(maxRows: number = waitingLimits.rows): WaitingLimits {
  return { ...waitingLimits, rows: maxRows };
}

/** Returns why a row of `count` and `bytes` has to be refused, or undefined. An empty queue takes a row of any size. */
export function findRefusal(
  limits: WaitingLimits,
  own: Load,
  all: Load,
  count: number,
  bytes: number,
): Refusal | undefined {
  const ownLimit = overLimit(limits, ownerShare, own, count, bytes);
  if (ownLimit) return { limit: ownLimit, scope: "owner", max: limits[ownLimit] * ownerShare };
  const limit = overLimit(limits, 1, all, count, bytes);
  return limit && { limit, scope: "all", max: limits[limit] };
}

function overLimit(limits: WaitingLimits, share: number, present: Load, count: number, bytes: number) {
  if (present.rows >= limits.rows * share) return "rows";
  if (present.count > 0 && present.count + count > limits.count * share) return "count";
  return present.bytes > 0 && present.bytes + bytes > limits.bytes * share ? "bytes" : undefined;
}

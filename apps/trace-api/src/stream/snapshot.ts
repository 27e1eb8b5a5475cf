/** A snapshot of Postgres, `xmin:xmax:xip,…`: the transactions that a statement sees. */
export interface Snapshot {
  readonly text: string;
  /** The oldest open transaction. */
  readonly xmin: bigint;
  /** The first transaction that had not begun. */
  readonly xmax: bigint;
  readonly open: ReadonlySet<string>;
}

const pattern = /^(\d{1,19}):(\d{1,19}):((?:\d{1,19}(?:,\d{1,19})*)?)$/;
const maxId = 2n ** 63n;

/** Undefined for text that is none. Postgres refuses what this refuses, so nothing else reaches a statement. */
export function parseSnapshot(text: string): Snapshot | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [xmin, xmax] = [BigInt(match[1] ?? 0), BigInt(match[2] ?? 0)];
  const open = match[3] ? match[3].split(",") : [];
  let last = xmin - 1n;
  for (const each of open) {
    if (BigInt(each) <= last || BigInt(each) >= xmax) return undefined;
    last = BigInt(each);
  }
  return xmin > 0n && xmin <= xmax && xmax < maxId ? { text, xmin, xmax, open: new Set(open) } : undefined;
}

/** Whether a snapshot shows the writes of a transaction. */
export function isVisible(txid: string, { xmin, xmax, open }: Snapshot): boolean {
  const id = BigInt(txid);
  return id < xmin || (id < xmax && !open.has(txid));
}

/** Whether a snapshot shows all that an earlier one shows. */
export function covers(later: Snapshot, earlier: Snapshot): boolean {
  if (later.xmax < earlier.xmax) return false;
  return [...later.open].every((id) => BigInt(id) >= earlier.xmax || earlier.open.has(id));
}

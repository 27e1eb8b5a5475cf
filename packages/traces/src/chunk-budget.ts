/** Chunks up to this size need no budget: the limit of answers under way bounds their sum. */
export const maxSmallChunkBytes = 524_288;
/** Larger chunks of all accounts, in bytes that are being read or sent. */
const maxBytes = 64 * 1_048_576;
/** A chunk above this waits until its account has no other large chunk. */
const maxBytesPerAccount = maxBytes / 4;

export interface ChunkBudget {
  /** Waits until the chunk fits; returns the bytes to give back, at most the account's share. */
  take(accountId: string, bytes: number): Promise<number>;
  give(accountId: string, bytes: number): void;
}

/** Makes an unused budget. Each waiter is an answer under way, so their number is bounded. */
export function createChunkBudget(): ChunkBudget {
  const held = new Map<string, number>();
  let heldByAll = 0;
  let waiting: (() => void)[] = [];
  const fits = (accountId: string, bytes: number) =>
    (held.get(accountId) ?? 0) + bytes <= maxBytesPerAccount && heldByAll + bytes <= maxBytes;
  const add = (accountId: string, bytes: number) => {
    const own = (held.get(accountId) ?? 0) + bytes;
    if (own > 0) held.set(accountId, own);
    else held.delete(accountId);
    heldByAll += bytes;
  };
  return {
    async take(accountId, bytes) {
      const taken = Math.min(bytes, maxBytesPerAccount);
      while (!fits(accountId, taken)) await new Promise<void>((resolve) => waiting.push(resolve));
      add(accountId, taken);
      return taken;
    },
    give(accountId, bytes) {
      if (bytes === 0) return;
      add(accountId, -bytes);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
  };
}

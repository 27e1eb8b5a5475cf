/** Bytes of a piece that needs no budget: the number of answers under way bounds what all such pieces take. */
export const maxSmallPiece = 524_288;
/** Bytes of larger pieces that are read or sent at a time, of all accounts. */
const maxBytes = 64 * 1_048_576;
/** Of one account. A piece that is larger alone is read where the account has no other. */
const maxBytesPerAccount = maxBytes / 4;

/** Lets large pieces of answers pass one after the other. */
export interface PieceBudget {
  /** Waits until there is room for a piece; gives what was taken of the budget. */
  take(accountId: string, bytes: number): Promise<number>;
  give(accountId: string, bytes: number): void;
}

/** Makes a budget of which nothing is taken. Whoever waits is an answer under way, so that few do. */
export function createPieceBudget(): PieceBudget {
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

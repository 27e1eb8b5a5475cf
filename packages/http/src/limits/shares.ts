import type { AppError } from "@waymark/errors";
import type { Refusals } from "./refusals.js";

/** How much of one thing may be held, such as bytes of bodies. */
export interface ShareLimits {
  /** Names the limit in metrics. */
  name: string;
  /** Of all accounts together. */
  total: number;
  /** Of one account. */
  perAccount: number;
  /** The sentence for who is refused; `most` is one of the two limits. */
  reason(most: number): string;
}

/** Counts what accounts hold, and refuses what goes above one's share or above what all may hold. */
export interface Shares {
  /** Takes an amount; gives the refusal where it is not to be had, and then takes nothing. */
  take(accountId: string, amount: number): AppError | undefined;
  give(accountId: string, amount: number): void;
}

/** Makes shares of which nothing is taken. Memory is that of the accounts that hold something. */
export function createShares({ name, total, perAccount, reason }: ShareLimits, refusals: Refusals): Shares {
  const held = new Map<string, number>();
  let heldByAll = 0;
  return {
    take(accountId, amount) {
      const own = (held.get(accountId) ?? 0) + amount;
      if (own > perAccount) return refusals.account(name, `${reason(perAccount)} of one account`);
      if (heldByAll + amount > total) return refusals.service(name, `${reason(total)} of all accounts together`);
      held.set(accountId, own);
      heldByAll += amount;
      return undefined;
    },
    give(accountId, amount) {
      const own = (held.get(accountId) ?? 0) - amount;
      if (own > 0) held.set(accountId, own);
      else held.delete(accountId);
      heldByAll -= amount;
    },
  };
}

import type { AppError } from "@waymark/errors";
import type { Siblings } from "../../process/index.js";
import type { Refusals } from "./refusals.js";

/** Limits of one resource, such as bytes of bodies. */
export interface ShareLimits {
  name: string;
  /** The other processes of the service, if what they hold counts. */
  siblings?: Siblings | undefined;
  total: number;
  perAccount: number;
  /** A part of `total` that only accounts holding nothing may take; none if omitted. */
  keptForNew?: number;
  /** The sentence for a refused client; `most` is one of the two limits. */
  reason(most: number): string;
}

/** Counts the holdings of accounts, and refuses more than an account's or all accounts' limit. */
export interface Shares {
  /** Takes an amount, or takes nothing and returns the refusal. */
  take(accountId: string, amount: number): AppError | undefined;
  give(accountId: string, amount: number): void;
}

/** Makes shares. Memory grows only with accounts holding something. */
export function createShares(limits: ShareLimits, refusals: Refusals): Shares {
  const { name, total, perAccount, keptForNew = 0, reason, siblings } = limits;
  const others = siblings?.hold(name);
  const held = new Map<string, number>();
  let heldByAll = 0;
  return {
    take(accountId, amount) {
      const own = (held.get(accountId) ?? 0) + amount;
      if (own + (others?.of(accountId) ?? 0) > perAccount)
        return refusals.account(name, `${reason(perAccount)} of one account`);
      const most = own > amount ? total - keptForNew : total;
      if (heldByAll + amount + (others?.total ?? 0) > most)
        return refusals.service(name, `${reason(most)} of all accounts together`);
      held.set(accountId, own);
      heldByAll += amount;
      others?.tell(accountId, own);
      return undefined;
    },
    give(accountId, amount) {
      const own = (held.get(accountId) ?? 0) - amount;
      if (own > 0) held.set(accountId, own);
      else held.delete(accountId);
      heldByAll -= amount;
      others?.tell(accountId, Math.max(0, own));
    },
  };
}

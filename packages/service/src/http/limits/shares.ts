import { AppError } from "@waymark/errors";
import { Counter, type Registry } from "prom-client";
import type { Siblings } from "../../process/index.js";

/** Seconds before a refused client may try again, unless the limit knows better. */
const retryAfterSeconds = 1;

export interface Refusals {
  /** 429: one account, key or client has reached its share. `limit` names it in the metric and the table of limits. */
  account(limit: string, reason: string, retryAfter?: number): AppError;
  /** 429: one key or client sends too many requests a second; the limit of a key's requests without `what`. */
  rate(limit: number, retryAfter: number, what?: { name: string; reason: string }): AppError;
  /** 503: all clients together have reached a limit of this instance. */
  service(limit: string, reason: string, retryAfter?: number): AppError;
}

const metric = {
  name: "waymark_refused_total",
  help: "Requests refused by a limit, by limit and whose it is: one account's share, or what the instance holds for all",
  labelNames: ["limit", "scope"],
} as const;

/** Makes refusals on a registry. Further calls with the same registry use the same metric. */
export function createRefusals(registry: Registry): Refusals {
  const existing = registry.getSingleMetric(metric.name) as Counter<"limit" | "scope"> | undefined;
  const counter = existing ?? new Counter({ ...metric, registers: [registry] });
  const refuse = (code: "account_busy" | "busy", scope: string) => {
    return (limit: string, reason: string, retryAfter = retryAfterSeconds) => {
      counter.inc({ limit, scope });
      return new AppError(code, { details: { reason }, headers: { "Retry-After": String(retryAfter) } });
    };
  };
  return {
    account: refuse("account_busy", "account"),
    service: refuse("busy", "service"),
    rate(limit, retryAfter, what) {
      counter.inc({ limit: what?.name ?? "requests_per_second", scope: "account" });
      const headers = { "Retry-After": String(retryAfter) };
      return new AppError("rate_limited", {
        details: { limit, retry_after: retryAfter, ...(what && { reason: what.reason }) },
        headers,
      });
    },
  };
}

interface ShareLimits {
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

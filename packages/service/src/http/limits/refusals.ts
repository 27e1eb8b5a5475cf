import { AppError } from "@waymark/errors";
import { Counter, type Registry } from "prom-client";

/** Seconds before a refused client may try again, unless the limit knows better. */
const retryAfterSeconds = 1;

/** Makes the errors of limits, and counts them in `waymark_refused_total`. */
export interface Refusals {
  /**
   * 429: one account, key or client has reached its own share; others go on.
   * @param limit the name in the metric and in the table of limits, such as `waiting_bytes`
   * @param reason a sentence for the client with the limit and its size
   */
  account(limit: string, reason: string, retryAfter?: number): AppError;
  /**
   * 429: one key or client sends too many requests a second.
   * @param what the name in the metric and a sentence for the client; the limit of a key's requests if omitted
   */
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

import type pg from "pg";
import type { Logger } from "pino";
import { leaseMs } from "../attempt.js";
import { claimDelivery, type DeliveryKey } from "../channels/claim-delivery.query.js";

interface DeliverDeps {
  pool: pg.Pool;
  log: Logger;
  /** Makes one attempt. */
  send(delivery: DeliveryKey): Promise<void>;
  digestsPerHour: number;
  isStopping(): boolean;
}

interface Deliverer {
  /** Starts what is due, as far as there is room, and returns. */
  start(): Promise<void>;
  /** Waits for the attempts in hand. */
  drain(): Promise<void>;
}

/** Attempts in hand at once: in all, and of one account and channel. A busy worker gives each account one. */
const bounds = { all: 512, busy: 128, account: 4, channel: 2 } as const;

/** Delivers to many receivers at once. Accounts take turns and have a few attempts in hand each, so a hanging one delays itself. */
export function createDeliverer({ pool, log, send, digestsPerHour, isStopping }: DeliverDeps): Deliverer {
  const inHand = new Map<Promise<void>, DeliveryKey>();
  let last: string | undefined;
  let starting: Promise<void> | undefined;
  let isAsked = false;

  const overBound = (owner: "accountId" | "channelId", bound: number) => {
    const counts = new Map<string, number>();
    for (const key of inHand.values()) counts.set(key[owner], (counts.get(key[owner]) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= bound).map(([id]) => id);
  };
  const begin = (key: DeliveryKey) => {
    const attempt = send(key)
      .catch((err: unknown) => log.error({ err, ...key }, "a delivery failed unexpectedly; it is due again in a while"))
      .finally(() => {
        inHand.delete(attempt);
        void start().catch((err: unknown) =>
          log.warn({ err }, "deliveries could not be claimed; the next round tries again"),
        );
      });
    inHand.set(attempt, key);
  };
  const startAll = async () => {
    while (inHand.size < bounds.all && !isStopping()) {
      const key = await claimDelivery(pool, {
        after: last,
        busyAccounts: overBound("accountId", inHand.size < bounds.busy ? bounds.account : 1),
        busyChannels: overBound("channelId", bounds.channel),
        leaseMs,
        digestsPerHour,
      });
      if (!key) return;
      last = key.accountId;
      begin(key);
    }
  };
  // One after the other: each claim starts after the account of the one before.
  async function start(): Promise<void> {
    isAsked = true;
    starting ??= (async () => {
      while (isAsked) {
        isAsked = false;
        await startAll();
      }
    })().finally(() => {
      starting = undefined;
    });
    return starting;
  }
  return {
    start,
    async drain() {
      await starting?.catch(() => undefined);
      await Promise.all(inHand.keys());
    },
  };
}

import type pg from "pg";
import type { Logger } from "pino";
import { leaseMs } from "../attempt.js";
import { claimDelivery, type DeliveryKey } from "../channels/claim-delivery.query.js";
import type { MailLimits } from "../channels/own-mail.query.js";

interface DeliverDeps {
  pool: pg.Pool;
  log: Logger;
  send(delivery: DeliveryKey): Promise<void>;
  limits: MailLimits;
  countHeld(alerts: number): void;
  isStopping(): boolean;
}

/**
 * Attempts in hand at once: in all, of mails to accounts, and of one account and channel. A busy worker gives each account one.
 * Resend takes two mails a second; more in hand would only wait.
 */
const bounds = { all: 512, busy: 128, mails: 4, account: 4, channel: 2 } as const;

/** Delivers to many receivers at once. Accounts take turns and have a few attempts in hand each, so a hanging one delays itself. */
export function createDeliverer({ pool, log, send, limits, countHeld, isStopping }: DeliverDeps) {
  const inHand = new Map<Promise<void>, DeliveryKey>();
  let last: string | undefined;
  let starting: Promise<void> | undefined;
  let isAsked = false;

  const begin = (key: DeliveryKey) => {
    const attempt = send(key)
      .catch((err: unknown) => log.error({ err, ...key }, "a delivery failed unexpectedly; it is due again in a while"))
      .finally(() => {
        inHand.delete(attempt);
        void start().catch((err: unknown) => log.warn({ err }, "deliveries not claimed; the next round tries again"));
      });
    inHand.set(attempt, key);
  };
  /** The next claim; an account whose claim fails is left out for now, so it does not keep the others from their turn. */
  const claimNext = async (broken: Set<string>) => {
    for (;;) {
      let turn: string | undefined;
      try {
        const onTurn = (accountId: string) => {
          last = turn = accountId;
        };
        const busy = busyOf([...inHand.values()], broken);
        return await claimDelivery(pool, { after: last, onTurn, ...busy, leaseMs, limits });
      } catch (err) {
        if (turn === undefined || broken.has(turn)) throw err;
        broken.add(turn);
        log.error({ err, accountId: turn }, "a delivery could not be claimed; the others go on");
      }
    }
  };
  const startAll = async () => {
    const broken = new Set<string>();
    while (inHand.size < bounds.all && !isStopping()) {
      const claim = await claimNext(broken);
      if (!claim) return;
      const { held, ...key } = claim;
      if (held === 0) begin(key);
      else {
        countHeld(held);
        log.info({ accountId: key.accountId, alerts: held }, "alerts above the limit wait for a summary");
      }
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
    /** Waits for the claims and attempts in hand, and for the claims after these. */
    async drain() {
      while (starting || inHand.size > 0) await Promise.all([starting?.catch(() => undefined), ...inHand.keys()]);
    },
  };
}

/** Who waits for the attempts in hand. */
function busyOf(inHand: readonly DeliveryKey[], broken: ReadonlySet<string>) {
  const overBound = (ids: readonly string[], bound: number) => {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= bound).map(([id]) => id);
  };
  const [accounts, channels] = [inHand.map(({ accountId }) => accountId), inHand.map(({ channelId }) => channelId)];
  return {
    busyAccounts: [...overBound(accounts, inHand.length < bounds.busy ? bounds.account : 1), ...broken],
    busyChannels: overBound(channels, bounds.channel),
    areMailsBusy: inHand.filter(({ accountId, channelId }) => accountId === channelId).length >= bounds.mails,
  };
}

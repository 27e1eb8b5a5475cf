import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { composeAccountMail, type Mailer } from "@waymark/alerts/mail";
import type { Limit, Limiter } from "@waymark/service/limits";
import type { Logger } from "pino";
import { keyOf } from "./guesses.js";

const daySeconds = 24 * 3_600;

/**
 * Mails in a day that strangers can cause and nobody needs to get in: invitations, and notes of an account. Links to get in have
 * a limit of their own, in {@link mailLink}: counted by the day, they would lock people out.
 */
const addressLimit = { name: "mail-address", points: 10, windowSeconds: daySeconds };
const accountLimit = { name: "mail-account", points: 100, windowSeconds: daySeconds };
const hourLimit = { name: "mail-hour", points: 20, windowSeconds: 3_600 };
/** Of an account in its first day: nobody knows it yet. */
const youngLimit = { name: "mail-young", points: 5, windowSeconds: daySeconds };

const maxWaiting = 200;
const maxAttempts = 4;
const retryMs = 2_000;

type AccountMail = Parameters<typeof composeAccountMail>[0];

export type AccountMails = ReturnType<typeof createAccountMails>;

interface AccountMailsOptions {
  mailer: Mailer;
  openLimiter(limit: Limit): Limiter;
  log: Logger;
}

/** Sends the mails of accounts. A failed attempt is repeated three times. */
export function createAccountMails({ mailer, openLimiter, log }: AccountMailsOptions) {
  const working = new Set<Promise<unknown>>();
  const perAddress = openLimiter(addressLimit);
  const perAccount = openLimiter(accountLimit);
  const perHour = openLimiter(hourLimit);
  const young = openLimiter(youngLimit);
  return {
    /** Counts an invitation or a note. @param inviter the inviting account */
    async admit(purpose: "known" | "invite", to: string, inviter?: { accountId: string; isYoung: boolean }) {
      if (inviter) {
        for (const limiter of inviter.isYoung ? [young, perHour, perAccount] : [perHour, perAccount]) {
          const ofAccount = await limiter.spend(inviter.accountId);
          if (!ofAccount.isAllowed) return ofAccount;
        }
      }
      return perAddress.spend(keyOf(purpose, to));
    },
    /**
     * Runs a task after the answer, so that neither its time nor its outcome tells who has an account. Beyond 200 waiting tasks
     * a further one is dropped: its person asks again.
     */
    later(task: () => Promise<void>) {
      if (working.size >= maxWaiting) {
        log.warn("too many mails wait; one was dropped");
        return;
      }
      const done: Promise<unknown> = task()
        .catch((err: unknown) => log.error({ err }, "a mail was not sent"))
        .finally(() => working.delete(done));
      working.add(done);
    },
    async send(to: string, mail: AccountMail) {
      const message = { to, ...composeAccountMail(mail), idempotencyKey: randomUUID() };
      for (let attempt = 1; ; attempt++) {
        const delivery = await mailer.send(message);
        if (delivery.outcome === "sent") return;
        if (delivery.outcome === "refused" || attempt === maxAttempts) throw new Error(delivery.reason);
        await wait(delivery.retryAfterMs ?? retryMs * attempt);
      }
    },
    async idle() {
      while (working.size > 0) await Promise.all(working);
    },
  };
}

import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { composeAccountMail, type Mailer } from "@waymark/mail";
import type { Logger } from "pino";

const maxWaiting = 200;
const maxAttempts = 4;
const retryMs = 2_000;

type AccountMail = Parameters<typeof composeAccountMail>[0];

export interface AccountMails {
  /**
   * Does work after the answer, so that neither its time nor its outcome tells who has an account. Beyond 200 waiting works
   * a further one is dropped: its person asks again.
   */
  later(work: () => Promise<void>): void;
  send(to: string, mail: AccountMail): Promise<void>;
  /** Resolves when no work is left. */
  idle(): Promise<void>;
}

/** Sends the mails of accounts. A failed attempt is repeated three times. */
export function createAccountMails({ mailer, log }: { mailer: Mailer; log: Logger }): AccountMails {
  const working = new Set<Promise<void>>();
  return {
    later(work) {
      if (working.size >= maxWaiting) {
        log.warn("too many mails wait; one was dropped");
        return;
      }
      const done = work()
        .catch((err: unknown) => log.error({ err }, "a mail was not sent"))
        .finally(() => working.delete(done));
      working.add(done);
    },
    async send(to, mail) {
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

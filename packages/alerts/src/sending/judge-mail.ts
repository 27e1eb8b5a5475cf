import { type Attempt, giveUp, pause, sent } from "../attempt.js";
import type { Delivery } from "../mail/index.js";

/** Decides from the mail service's answer. @param later the next attempt of a mail that may work then */
export function judgeMail(delivery: Delivery, later: (reason: string, askedMs?: number) => Attempt): Attempt {
  if (delivery.outcome === "sent") return sent;
  const { reason, outcome } = delivery;
  if (outcome === "refused") return giveUp(reason);
  if (outcome === "deferred") return later(reason, delivery.retryAfterMs);
  return { ...pause(reason, delivery.retryAfterMs), counts: false };
}

import { type Attempt, type Before, giveUp, sent, tryLater } from "../attempt.js";
import { cut, type Delivery, oneLine } from "../mail/index.js";
import { readRetryAfter } from "../retry-after.js";
import type { PostAnswer } from "./post.js";

/** Decides from the mail service's answer whether and when to try again. */
export function judgeMail(delivery: Delivery, before: Before): Attempt {
  if (delivery.outcome === "sent") return sent;
  const { reason, outcome } = delivery;
  if (outcome === "refused") return giveUp(reason);
  if (outcome === "deferred") return tryLater(reason, before, delivery.retryAfterMs);
  return { ...sent, state: "pending", reason, counts: false, retryAfterMs: delivery.retryAfterMs };
}

const maxReasonLength = 300;

/** Statuses of a request that is wrong now and may be right later. */
const laterStatuses: readonly number[] = [408, 429];

/** Decides from an answer whether and when to try again. */
export function judgePost(answer: PostAnswer, before: Before, now = Date.now()): Attempt {
  if (answer.status === null) return answer.isRefused ? giveUp(answer.reason) : tryLater(answer.reason, before);
  const { status, text, isInside } = answer;
  if (status >= 200 && status < 300) return sent;
  // An account is told what its own server says, and nothing of the operator's network.
  const said = isInside ? "" : oneLine(text, 200);
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const reason = cut(`Answered ${status}${redirect}${said === "" ? "" : `: ${said}`}`, maxReasonLength);
  const isFinal = status >= 400 && status < 500 && !laterStatuses.includes(status);
  if (isFinal) return { ...giveUp(reason), isGone: status === 410 };
  return tryLater(reason, before, readRetryAfter(answer.retryAfter, now));
}

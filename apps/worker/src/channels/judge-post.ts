import type { Attempt } from "@waymark/alerts";
import { cut, oneLine } from "@waymark/alerts/mail";
import type { PostAnswer } from "./post.js";

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;
/** Between attempts; then hourly. */
const pausesMs = [5 * secondMs, 30 * secondMs, 120 * secondMs, 600 * secondMs, hourMs] as const;
/** From the first attempt on. */
const lifeMs = 24 * hourMs;
const maxReasonLength = 300;

/** Statuses of a request that is wrong now and may be right later. */
const laterStatuses: readonly number[] = [408, 429];

interface Before {
  attempts: number;
  /** Since the first attempt began. */
  ageMs: number;
}

/** Decides from an answer whether and when to try again; `isGone` ends the channel. */
export function judgePost(answer: PostAnswer, before: Before, now = Date.now()): Attempt & { isGone: boolean } {
  if (answer.status === null) {
    return { ...(answer.isRefused ? giveUp(answer.reason) : tryLater(answer.reason, before)), isGone: false };
  }
  const { status, text, isInside } = answer;
  if (status >= 200 && status < 300) {
    return { state: "sent", reason: null, counts: true, retryAfterMs: 0, isGone: false };
  }
  // An account is told what its own server says, and nothing of the operator's network.
  const said = isInside ? "" : oneLine(text, 200);
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const reason = cut(`Answered ${status}${redirect}${said === "" ? "" : `: ${said}`}`, maxReasonLength);
  const isFinal = status >= 400 && status < 500 && !laterStatuses.includes(status);
  if (isFinal) return { ...giveUp(reason), isGone: status === 410 };
  return { ...tryLater(reason, before, readRetryAfter(answer.retryAfter, now)), isGone: false };
}

function giveUp(reason: string): Attempt {
  return { state: "failed", reason, counts: true, retryAfterMs: 0 };
}

/** The next attempt of a delivery, up to a day after the first one. @param askedMs the wait that the receiver asks for */
export function tryLater(reason: string, { attempts, ageMs }: Before, askedMs = 0): Attempt {
  const pauseMs = pausesMs[attempts] ?? hourMs;
  const spreadMs = pauseMs * (1 + Math.random() / 10);
  const retryAfterMs = Math.max(spreadMs, Math.min(askedMs, hourMs));
  if (ageMs + retryAfterMs > lifeMs) return giveUp(reason);
  return { state: "pending", reason, counts: true, retryAfterMs };
}

/** `Retry-After` in seconds or as a date, as milliseconds from now; 0 where it says neither. */
function readRetryAfter(header: string | undefined, now: number): number {
  if (!header) return 0;
  const waitMs = /^\d+(\.\d+)?$/.test(header) ? Number(header) * secondMs : Date.parse(header) - now;
  return Number.isNaN(waitMs) ? 0 : Math.max(waitMs, 0);
}

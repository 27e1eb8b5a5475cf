import { principalOf } from "@waymark/auth";
import { type AnswerBudget, type BodyBudget, createShares, createTurns, type Refusals } from "@waymark/service/http";

const mebibyte = 1_048_576;
/** For unread answers above 64 KiB. Large traces go out in chunks and do not count. */
const limits = { total: 64 * mebibyte, perAccount: 16 * mebibyte } as const;

export function createAnswerBudget(refusals: Refusals): AnswerBudget {
  const reason = (most: number) => `At most ${most / mebibyte} MiB of answers may be under way`;
  const shares = createShares({ name: "answer_bytes", ...limits, reason }, refusals);
  return { shares, ownerOf: (response) => principalOf(response).accountId };
}

/** Holds several bodies of the default limit. */
const minBytesPerAccount = 16 * mebibyte;
/** The memory of a body exceeds its bytes, because it arrives in chunks. */
const costOfBody = 1.25;
/** Accounts at their limit that fill the whole budget. */
const accounts = 4;

/** 64 MiB, a quarter of it for one account. It grows with `bodyLimitBytes`, so one largest body always fits. */
export function createBodyBudget(bodyLimitBytes: number, refusals: Refusals): BodyBudget {
  const perAccount = Math.max(minBytesPerAccount, Math.ceil(bodyLimitBytes * costOfBody));
  const reason = (most: number) => `At most ${Math.round(most / mebibyte)} MiB of request bodies may be in hand`;
  const shares = createShares({ name: "body_bytes", total: perAccount * accounts, perAccount, reason }, refusals);
  return { shares, turn: createTurns(), ownerOf: (response) => principalOf(response).accountId };
}

import { principalOf } from "@waymark/auth";
import { type AnswerBudget, createShares, type Refusals } from "@waymark/service/http";

const mebibyte = 1_048_576;
/** For unread answers above 64 KiB. Large traces go out in chunks and do not count. */
const limits = { total: 64 * mebibyte, perAccount: 16 * mebibyte } as const;

/** Makes the budget of the bytes of unread answers. */
export function createAnswerBudget(refusals: Refusals): AnswerBudget {
  const reason = (most: number) => `At most ${most / mebibyte} MiB of answers may be under way`;
  const shares = createShares({ name: "answer_bytes", ...limits, reason }, refusals);
  return { shares, ownerOf: (response) => principalOf(response).accountId };
}

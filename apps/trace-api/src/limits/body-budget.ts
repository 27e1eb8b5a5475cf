import { principalOf } from "@waymark/auth";
import { type BodyBudget, createShares, createTurns, type Refusals } from "@waymark/http";

/** Bytes of one account's bodies that arrive or are worked on: several of the largest that a client sends by default. */
const minBytesPerAccount = 16 * 1_048_576;
/** A body counts for more than its bytes, by the pieces that it comes in. */
const costOfBody = 1.25;
/** How many accounts at their limit it takes to fill the budget of all. */
const accounts = 4;

/** The bytes of bodies that arrive, or whose requests are in hand: 64 MiB, a quarter for one account; more with larger bodies. */
export function createBodyBudget(bodyLimitBytes: number, refusals: Refusals): BodyBudget {
  const perAccount = Math.max(minBytesPerAccount, Math.ceil(bodyLimitBytes * costOfBody));
  const reason = (most: number) => `At most ${Math.round(most / 1_048_576)} MiB of request bodies may be in hand`;
  const shares = createShares({ name: "body_bytes", total: perAccount * accounts, perAccount, reason }, refusals);
  return { shares, turn: createTurns(), ownerOf: (response) => principalOf(response).accountId };
}

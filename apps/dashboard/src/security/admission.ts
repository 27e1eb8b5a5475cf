import { createRefusals, createShares, createTokenBuckets } from "@waymark/service/http";
import type { RequestHandler } from "express";
import type { AppDeps } from "../app-deps.js";
import { viewerOf } from "../session/viewer.js";

/** A page sends some ten at once, and one every few seconds later. */
const perSecond = 100;
const burstSeconds = 20;
const maxSessions = 10_000;

const limitsInHand = {
  name: "requests_in_hand",
  total: 1_024,
  reason: (most: number) => `At most ${most} requests may be in hand`,
};

/** Limits the requests of a session per second, and those of an account and of all in hand. Runs behind `requireSession`. */
export function admitViewer({
  registry,
  requestsPerAccount = 256,
  siblings,
  clock = () => performance.now(),
}: Pick<AppDeps, "registry" | "requestsPerAccount" | "siblings"> & { clock?(): number }): RequestHandler {
  const refusals = createRefusals(registry);
  const rates = createTokenBuckets({ name: "session", perSecond, burstSeconds, maxKeys: maxSessions, clock, siblings });
  const inHand = createShares({ ...limitsInHand, perAccount: requestsPerAccount, siblings }, refusals);
  return (_request, response, next) => {
    // The client left during the lookup of its session: a closed response would never give its count back.
    if (response.closed) return;
    const { sessionId, accountId } = viewerOf(response);
    const early = rates.take(sessionId, 1);
    if (early) throw refusals.rate(perSecond, early.retryAfterSeconds);
    const refusal = inHand.take(accountId, 1);
    if (refusal) throw refusal;
    response.once("close", () => inHand.give(accountId, 1));
    next();
  };
}

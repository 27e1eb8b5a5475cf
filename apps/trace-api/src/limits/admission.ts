import { principalOf } from "@waymark/auth";
import type { Siblings } from "@waymark/service";
import { createTokenBuckets, type Refusals } from "@waymark/service/http";
import type { RequestHandler, Response } from "express";

/** More than an HTTP client opens connections by default. */
const maxInHandPerKey = 256;
/** Requests of all keys in hand on one instance. */
const maxInHand = 2_048;
/** Seconds of unused requests that a key saves up. */
const burstSeconds = 2;
/** Beyond this, keys start with a full burst. */
const maxKeys = 10_000;

interface AdmissionOptions {
  /** Requests of one key a second, with bursts of twice as many; 0 for no limit. */
  ratePerSecond: number;
  refusals: Refusals;
  siblings?: Siblings | undefined;
  /** Milliseconds from any point on. */
  clock?(): number;
}

/** Of a key per second and in hand (429), of all keys in hand (503), over an instance's processes. */
export function admit(options: AdmissionOptions): RequestHandler {
  const { ratePerSecond, refusals, siblings, clock = () => performance.now() } = options;
  const rates = createTokenBuckets({ name: "key", perSecond: ratePerSecond, burstSeconds, maxKeys, clock, siblings });
  const others = siblings?.hold("requests_in_hand");
  const inHandOf = new Map<string, number>();
  let inHand = 0;

  return (_request, response, next) => {
    // The client left during the lookup of its key: a closed response would never give its count back.
    if (response.closed) return;
    const { keyId } = principalOf(response);
    const refused = rates.take(keyId, 1);
    if (refused) throw refusals.rate(ratePerSecond, refused.retryAfterSeconds);
    const own = inHandOf.get(keyId) ?? 0;
    if (own + (others?.of(keyId) ?? 0) >= maxInHandPerKey) {
      throw refusals.account("requests_in_hand", `At most ${maxInHandPerKey} requests of one key may be in hand`);
    }
    if (inHand + (others?.total ?? 0) >= maxInHand) {
      throw refusals.service("requests_in_hand", `At most ${maxInHand} requests of all keys may be in hand`);
    }
    inHandOf.set(keyId, own + 1);
    inHand++;
    others?.tell(keyId, own + 1);
    const leave = () => {
      const left = (inHandOf.get(keyId) ?? 1) - 1;
      if (left > 0) inHandOf.set(keyId, left);
      else inHandOf.delete(keyId);
      inHand--;
      others?.tell(keyId, left);
    };
    response.locals["leaveHand"] = leave;
    response.once("close", leave);
    next();
  };
}

/** Takes a request with an answer without an end out of those in hand; its route has a limit of its own. */
export function leaveHand(response: Response): void {
  const leave: (() => void) | undefined = response.locals["leaveHand"];
  if (!leave) return;
  response.off("close", leave);
  leave();
}

import { principalOf } from "@waymark/auth";
import type { Refusals } from "@waymark/http";
import type { RequestHandler } from "express";

/** Requests of one key that may be in hand: more than an HTTP client opens connections by default. */
const maxInHandPerKey = 256;
/** Requests of all keys that may be in hand on one instance. */
const maxInHand = 2_048;
/** A key may save up so many seconds' worth of requests. */
const burstSeconds = 2;
/** Keys remembered; beyond them, keys at rest are forgotten. */
const maxKeys = 10_000;

interface KeyState {
  /** Requests that it may make at once. */
  tokens: number;
  /** When they were counted, in milliseconds. */
  countedAt: number;
  inHand: number;
}

export interface AdmissionOptions {
  /** Requests of one key a second, with bursts of twice as many; 0 for no limit. */
  ratePerSecond: number;
  refusals: Refusals;
  /** Milliseconds from any point on. */
  clock?(): number;
}

/**
 * Lets a key make so many requests a second and have so many in hand, and refuses others with 429. Stands behind
 * `authenticate`. It is kept in memory: each instance counts for itself. At rest is a key without requests in hand whose
 * bucket is full by now, so that forgetting it changes nothing.
 */
export function admit({ ratePerSecond, refusals, clock = () => performance.now() }: AdmissionOptions): RequestHandler {
  const burst = ratePerSecond * burstSeconds;
  const keys = new Map<string, KeyState>();
  let inHand = 0;

  function forgetKeysAtRest(now: number): void {
    for (const [keyId, state] of keys) {
      if (state.inHand === 0 && now - state.countedAt > burstSeconds * 1_000) keys.delete(keyId);
    }
  }
  function stateOf(keyId: string, now: number): KeyState {
    const known = keys.get(keyId);
    if (known) return known;
    if (keys.size >= maxKeys) forgetKeysAtRest(now);
    const state = { tokens: burst, countedAt: now, inHand: 0 };
    keys.set(keyId, state);
    return state;
  }
  function spend(state: KeyState, now: number): void {
    state.tokens = Math.min(burst, state.tokens + ((now - state.countedAt) / 1_000) * ratePerSecond);
    state.countedAt = now;
    if (state.tokens < 1) throw refusals.rate(ratePerSecond, Math.ceil((1 - state.tokens) / ratePerSecond));
    state.tokens--;
  }

  return (_request, response, next) => {
    // The client left while its key was looked up: a closed response would never give back what it takes here.
    if (response.closed) return;
    const now = clock();
    const state = stateOf(principalOf(response).keyId, now);
    if (ratePerSecond > 0) spend(state, now);
    else state.countedAt = now;
    if (state.inHand >= maxInHandPerKey) {
      throw refusals.account("requests_in_hand", `At most ${maxInHandPerKey} requests of one key may be in hand`);
    }
    if (inHand >= maxInHand) {
      throw refusals.service("requests_in_hand", `At most ${maxInHand} requests of all keys may be in hand`);
    }
    state.inHand++;
    inHand++;
    response.once("close", () => {
      state.inHand--;
      inHand--;
    });
    next();
  };
}

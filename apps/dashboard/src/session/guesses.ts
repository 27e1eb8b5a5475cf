import { hash } from "node:crypto";
import { AppError } from "@waymark/errors";
import { addressKey, type Limit, type Limiter } from "@waymark/service/limits";
import type { Request } from "express";

const windowSeconds = 15 * 60;

/** Tries in 15 minutes: per address of mail, per network, and per 48 bits of IPv6, which one customer may hold. */
const emailLimit = { name: "guess-email", points: 10, windowSeconds };
const networkLimit = { name: "guess-network", points: 30, windowSeconds };
const wideNetworkLimit = { name: "guess-wide-network", points: 300, windowSeconds };

export interface GuessesOptions {
  openLimiter(limit: Limit): Limiter;
  /** The client's address, by the trusted proxies. */
  addressOf(request: Request): string;
}

type GuessKind = "sign-in" | "sign-up" | "forgot" | "link" | "password" | "invite";

interface Admission {
  /** The client's, as wide as one customer may hold. */
  network: string;
  /** Whether the address of mail has a try left. */
  isAllowed: boolean;
  retryAfterSeconds: number;
  /** Gives the try back: it was no guess. */
  refund(): Promise<void>;
}

export interface Guesses {
  /**
   * Counts a try. Each kind has its own counts.
   * @throws AppError 429 when the client's network has none left
   */
  admit(request: Request, kind: GuessKind, email?: string): Promise<Admission>;
}

/** The counts hold no address. */
export function keyOf(kind: string, text: string): string {
  return `${kind}:${hash("sha256", text, "base64url").slice(0, 22)}`;
}

/** Counts guesses of passwords, and mails that strangers can cause. */
export function createGuesses({ openLimiter, addressOf }: GuessesOptions): Guesses {
  const perEmail = openLimiter(emailLimit);
  const perNetwork = openLimiter(networkLimit);
  const perWideNetwork = openLimiter(wideNetworkLimit);
  return {
    async admit(request, kind, email) {
      const address = addressOf(request);
      const [network, wideNetwork] = [addressKey(address), addressKey(address, 48)];
      const spent = [{ limiter: perNetwork, key: keyOf(kind, network) }];
      if (wideNetwork !== network) spent.push({ limiter: perWideNetwork, key: keyOf(kind, wideNetwork) });
      for (const { limiter, key } of spent) {
        const { isAllowed, resetSeconds } = await limiter.spend(key);
        if (!isAllowed) throw tooMany(resetSeconds);
      }
      const key = keyOf(kind, email ?? "");
      const ofEmail = email === undefined ? undefined : await perEmail.spend(key);
      if (ofEmail) spent.push({ limiter: perEmail, key });
      return {
        network: wideNetwork,
        isAllowed: ofEmail?.isAllowed ?? true,
        retryAfterSeconds: ofEmail?.resetSeconds ?? 0,
        refund: async () => void (await Promise.all(spent.map((each) => each.limiter.refund(each.key)))),
      };
    },
  };
}

export function tooMany(seconds: number): AppError {
  return new AppError("rate_limited", {
    details: { retry_after: seconds },
    headers: { "Retry-After": String(seconds) },
  });
}

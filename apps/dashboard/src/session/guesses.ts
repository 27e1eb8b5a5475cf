import { hash } from "node:crypto";
import { AppError } from "@waymark/errors";
import { addressKey, type Limit, type Limiter } from "@waymark/service/limits";
import type { Request } from "express";

const windowSeconds = 15 * 60;

/** Tries in 15 minutes: per address of mail, per network, and per 48 bits of IPv6, which one customer may hold. */
const emailLimit = { name: "guess-email", points: 10, windowSeconds };
const networkLimit = { name: "guess-network", points: 30, windowSeconds };
const wideNetworkLimit = { name: "guess-wide-network", points: 300, windowSeconds };

type GuessKind = "sign-in" | "sign-up" | "forgot" | "link" | "password" | "invite";

export type Guesses = ReturnType<typeof createGuesses>;

/** The counts hold no address. */
export function keyOf(kind: string, text: string): string {
  return `${kind}:${hash("sha256", text, "base64url").slice(0, 22)}`;
}

interface GuessesOptions {
  openLimiter(limit: Limit): Limiter;
  /** The client's address, by the trusted proxies. */
  addressOf(request: Request): string;
}

/** Counts guesses of passwords, and mails that strangers can cause. */
export function createGuesses({ openLimiter, addressOf }: GuessesOptions) {
  const perEmail = openLimiter(emailLimit);
  const perNetwork = openLimiter(networkLimit);
  const perWideNetwork = openLimiter(wideNetworkLimit);
  return {
    /**
     * Counts a try. Each kind has its own counts.
     * @returns whether the address of mail has a try left; the client's network, as wide as one customer may hold
     * @throws AppError 429 when the client's network has none left
     */
    async admit(request: Request, kind: GuessKind, email?: string) {
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
        /** Gives the try back: it was no guess. */
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

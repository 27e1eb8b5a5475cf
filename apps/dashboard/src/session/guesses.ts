import { hash } from "node:crypto";
import { tooMany } from "@waymark/errors";
import { addressKey, type Limit, type Limiter } from "@waymark/service/limits";
import type { Request } from "express";

const windowSeconds = 15 * 60;

/** Tries in 15 minutes: per address of mail, per shared link, per network, and per 48 bits of IPv6, which one customer may hold. */
const emailLimit = { name: "guess-email", points: 10, windowSeconds };
/** A code has six digits, and three are good at a time: whoever knows the password must not try through the days. */
const codeDayLimit = { name: "guess-code", points: 50, windowSeconds: 86_400 };
const linkLimit = { name: "guess-shared-link", points: 100, windowSeconds };
const networkLimit = { name: "guess-network", points: 30, windowSeconds };
const wideNetworkLimit = { name: "guess-wide-network", points: 300, windowSeconds };

type GuessKind =
  | "sign-in"
  | "code"
  | "challenge"
  | "provider"
  | "passkey"
  | "sign-up"
  | "forgot"
  | "link"
  | "password"
  | "invite"
  | "shared";

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
  const perLink = openLimiter(linkLimit);
  const perCodeDay = openLimiter(codeDayLimit);
  const perNetwork = openLimiter(networkLimit);
  const perWideNetwork = openLimiter(wideNetworkLimit);
  const limitersOf = (kind: GuessKind) =>
    kind === "shared" ? [perLink] : kind === "code" ? [perEmail, perCodeDay] : [perEmail];
  const ofNetworks = (request: Request, kind: GuessKind) => {
    const address = addressOf(request);
    const [network, wideNetwork] = [addressKey(address), addressKey(address, 48)];
    const counts = [{ limiter: perNetwork, key: keyOf(kind, network) }];
    if (wideNetwork !== network) counts.push({ limiter: perWideNetwork, key: keyOf(kind, wideNetwork) });
    return { network: wideNetwork, counts };
  };
  const giveBack = async (counts: { limiter: Limiter; key: string }[]) =>
    void (await Promise.all(counts.map(({ limiter, key }) => limiter.refund(key))));
  return {
    networkOf: (request: Request) => addressKey(addressOf(request)),
    /**
     * Counts a try. Each kind has its own counts.
     * @param subject the address of mail, or the shared link
     * @returns whether the subject has a try left; the client's network, as wide as one customer may hold
     * @throws AppError 429 when the client's network has none left
     */
    async admit(request: Request, kind: GuessKind, subject?: string) {
      const { network, counts: spent } = ofNetworks(request, kind);
      for (const { limiter, key } of spent) {
        const { isAllowed, resetSeconds } = await limiter.spend(key);
        if (!isAllowed) throw tooMany(resetSeconds);
      }
      let [isAllowed, retryAfterSeconds] = [true, 0];
      for (const limiter of subject === undefined ? [] : limitersOf(kind)) {
        const key = keyOf(kind, subject ?? "");
        const tried = await limiter.spend(key);
        spent.push({ limiter, key });
        isAllowed &&= tried.isAllowed;
        if (!tried.isAllowed) retryAfterSeconds = Math.max(retryAfterSeconds, tried.resetSeconds);
      }
      return {
        network,
        isAllowed,
        retryAfterSeconds,
        /** Gives the try back: it was no guess. */
        refund: () => giveBack(spent),
      };
    },
    /** Gives a try of an earlier request from the same network back. */
    refund: (request: Request, kind: GuessKind) => giveBack(ofNetworks(request, kind).counts),
  };
}

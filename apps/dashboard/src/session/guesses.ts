import { hash } from "node:crypto";
import { AppError } from "@waymark/errors";
import { addressKey, type Limiter } from "@waymark/limits";
import type { Request } from "express";

const windowSeconds = 15 * 60;

/** Tries per address of mail, and per network address, in 15 minutes. */
export const emailLimit = { name: "guess-email", points: 10, windowSeconds };
export const networkLimit = { name: "guess-network", points: 30, windowSeconds };

export interface GuessesOptions {
  perEmail: Limiter;
  perNetwork: Limiter;
  /** The client's address, by the trusted proxies. */
  addressOf(request: Request): string;
}

type GuessKind = "sign-in" | "sign-up" | "forgot" | "link" | "password" | "invite";

interface Admission {
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
function keyOf(kind: GuessKind, text: string): string {
  return `${kind}:${hash("sha256", text, "base64url").slice(0, 22)}`;
}

/** Counts guesses of passwords, and mails that strangers can cause. */
export function createGuesses({ perEmail, perNetwork, addressOf }: GuessesOptions): Guesses {
  return {
    async admit(request, kind, email) {
      const network = keyOf(kind, addressKey(addressOf(request)));
      const fromHere = await perNetwork.spend(network);
      if (!fromHere.isAllowed) throw tooMany(fromHere.resetSeconds);
      if (email === undefined)
        return { isAllowed: true, retryAfterSeconds: 0, refund: () => perNetwork.refund(network) };
      const address = keyOf(kind, email);
      const { isAllowed, resetSeconds } = await perEmail.spend(address);
      return {
        isAllowed,
        retryAfterSeconds: resetSeconds,
        async refund() {
          await Promise.all([perNetwork.refund(network), perEmail.refund(address)]);
        },
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

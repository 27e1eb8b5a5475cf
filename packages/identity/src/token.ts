import { hash, randomBytes } from "node:crypto";

const tokenBytes = 32;

/** 32 random bytes in base64url: the secret of a session's cookie or of a link. */
export function createToken(): string {
  return randomBytes(tokenBytes).toString("base64url");
}

/** Whether a text has the form of a token, without a look-up. */
export function isToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/**
 * What the browser of a sign-up keeps: it shows that a link answers the sign-up of this browser, and opens nothing alone.
 */
export function browserProofOf(token: string): string {
  return hash("sha256", `browser:${token}`, "base64url");
}

/** The database stores only this, so nobody enters with a copy of its rows. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

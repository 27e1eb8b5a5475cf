import { hash, randomBytes } from "node:crypto";
import { firstSlot } from "@waymark/auth";

const tokenBytes = 32;

export function createToken(): string {
  return randomBytes(tokenBytes).toString("base64url");
}

export function isToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** A session's token: the account's slot leads a proxy to its cell. */
export function createSessionToken(slot: string): string {
  return `${slot}.${createToken()}`;
}

/** The slot of a session's token, without a look-up; undefined for any other text. Tokens of earlier releases have none. */
export function slotOfSession(text: string): string | undefined {
  const [, slot = firstSlot, secret = ""] = /^(?:([0-9a-f]{2})\.)?([^.]+)$/.exec(text) ?? [];
  return isToken(secret) ? slot : undefined;
}

/** What a sign-up's browser keeps: it shows that a link answers this sign-up, and opens nothing alone. */
export function browserProofOf(token: string): string {
  return hash("sha256", `browser:${token}`, "base64url");
}

/** The database stores only this, so nobody enters with a copy of its rows. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

import { hash } from "node:crypto";

/** The first 64 bits of SHA-256 over a text in UTF-8, as a bigint of Postgres in text. */
export function hash64(text: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash("sha256", text, "hex").slice(0, 16)}`)).toString();
}

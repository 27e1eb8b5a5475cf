import { hash } from "node:crypto";

/** The first 64 bits of SHA-256 over a text in UTF-8, as a bigint of Postgres in text. */
export function hash64(text: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash("sha256", text, "hex").slice(0, 16)}`)).toString();
}

/** A UTC day's visitor by address and browser: 64 bits of SHA-256 over the day's salt, the site and both. */
export function hashVisitor(salt: Buffer, siteId: string, ip: string, userAgent: string): string {
  return hash64(`${salt.toString("hex")}\0${siteId}\0${ip}\0${userAgent}`);
}

/** A UTC day's visitor by an importer's pseudonym. Without salt, so that an import run again gives the same visitor. */
export function hashPseudonym(siteId: string, day: string, pseudonym: string): string {
  return hash64(`visitor\0${siteId}\0${day}\0${pseudonym}`);
}

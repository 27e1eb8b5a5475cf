import { hash64 } from "./hash64.js";

/** A UTC day's visitor by address and browser: 64 bits of SHA-256 over the day's salt, the site and both. */
export function hashVisitor(salt: Buffer, siteId: string, ip: string, userAgent: string): string {
  return hash64(`${salt.toString("hex")}\0${siteId}\0${ip}\0${userAgent}`);
}

/** A UTC day's visitor by an importer's pseudonym. Without salt, so that an import run again gives the same visitor. */
export function hashPseudonym(siteId: string, day: string, pseudonym: string): string {
  return hash64(`visitor\0${siteId}\0${day}\0${pseudonym}`);
}

import { hash64 } from "./hash64.js";

/** The visitor of a UTC day by address and browser: 64 bits of SHA-256 over the day's salt, the site and both. */
export function hashVisitor(salt: Buffer, siteId: string, ip: string, userAgent: string): string {
  return hash64(`${salt.toString("hex")}\0${siteId}\0${ip}\0${userAgent}`);
}

/**
 * The visitor of a UTC day by a pseudonym that an importer chose. No salt: the same line must give the same visitor
 * whenever an interrupted import is run again.
 */
export function hashPseudonym(siteId: string, day: string, pseudonym: string): string {
  return hash64(`visitor\0${siteId}\0${day}\0${pseudonym}`);
}

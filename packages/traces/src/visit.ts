import { createHash } from "node:crypto";

/** A span's attribute with the token of a visit, also by W3C baggage. No token is stored, so it is left out of attributes. */
export const visitAttribute = "waymark.visit";

/** The hash that stands for a visit's token in the database: 128 bits of SHA-256, in hexadecimal. */
export function hashOfVisit(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 32);
}

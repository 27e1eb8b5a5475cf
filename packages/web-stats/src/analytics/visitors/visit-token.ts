import { createHmac } from "node:crypto";

/**
 * The token of a visitor's UTC day on a site: 128 bits of HMAC-SHA-256 with the day's salt (RFC 2104), in hexadecimal. It says
 * nothing, nobody can make one for another visitor, and without the salt nothing leads from it to a visit.
 */
export function visitToken(salt: Buffer, siteId: string, visitor: string): string {
  return createHmac("sha256", salt).update(`${siteId} ${visitor}`).digest("hex").slice(0, 32);
}

const blockBytes = 64;

/** HMAC's two keys, for {@link visitHashSql}. */
export function visitKeys(salt: Buffer): { inner: Buffer; outer: Buffer } {
  const key = Buffer.concat([salt, Buffer.alloc(blockBytes - salt.length)]);
  return { inner: key.map((byte) => byte ^ 0x36) as Buffer, outer: key.map((byte) => byte ^ 0x5c) as Buffer };
}

/** SQL: what `trace_visit` has of the token of a visitor, by SQL of the keys, the site's id as text, and the visitor. */
export function visitHashSql(keys: { inner: string; outer: string }, siteId: string, visitor: string): string {
  const message = `convert_to(${siteId} || ' ' || ${visitor}, 'UTF8')`;
  const token = `left(encode(sha256(${keys.outer} || sha256(${keys.inner} || ${message})), 'hex'), 32)`;
  return `substr(sha256(convert_to(${token}, 'UTF8')), 1, 16)`;
}

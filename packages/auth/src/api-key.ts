import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { firstSlot } from "./slots.js";

/** What keys open, and the prefix of each one's keys. A shared link's key stands in its address. */
const keyPrefixes = { trace: "wmk_trace_", analytics: "wmk_stats_", link: "wmk_link_" } as const;

export type KeyKind = keyof typeof keyPrefixes;

/** The services with keys. */
export const keyServices = ["trace", "analytics"] as const satisfies readonly KeyKind[];

export type KeyService = (typeof keyServices)[number];

/** What a key of the trace API may do: send, read, or everything, with deletion. */
export const keyScopes = ["ingest", "read", "all"] as const;

export type KeyScope = (typeof keyScopes)[number];

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretBytes = 32;
/** 62^43 is the first power above 2^256. */
const secretLength = 43;
/** 62^6 is above 2^32, the range of a CRC-32. */
const checksumLength = 6;

/**
 * Makes a key: the service's prefix, the account's slot, 32 random bytes in base62, a checksum (trace contract, "Authentication").
 * @returns `key` to show once, `hash` to store, `hint` to tell keys apart in a list
 */
export function createApiKey(service: KeyKind, slot: string = firstSlot) {
  const secret = toBase62(BigInt(`0x${randomBytes(secretBytes).toString("hex")}`), secretLength);
  const unchecked = `${keyPrefixes[service]}${slot}_${secret}`;
  const key = unchecked + checksum(unchecked);
  return { key, hash: hashApiKey(key), hint: `${keyPrefixes[service]}…${key.slice(-4)}` };
}

/** The part of a key before its secret. Keys of earlier releases have no slot. */
const slotPattern = /^(?:([0-9a-f]{2})_)?$/;

/** The slot of a well-formed key of the service, by prefix, length and checksum, without a look-up; undefined for any other text. */
export function slotOfKey(service: KeyKind, text: string): string | undefined {
  const prefix = keyPrefixes[service];
  if (!text.startsWith(prefix)) return undefined;
  const slotPart = slotPattern.exec(text.slice(prefix.length, -(secretLength + checksumLength)));
  if (!slotPart || text.length !== prefix.length + slotPart[0].length + secretLength + checksumLength) return undefined;
  return text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength))
    ? (slotPart[1] ?? firstSlot)
    : undefined;
}

/** Says of a refused `Authorization` header what is wrong with it, in words that tell nobody whether a key exists. */
export function keyProblem(service: KeyService, header: string | undefined): string {
  const prefix = keyPrefixes[service];
  if (header === undefined) return `Send the header "Authorization: Bearer ${prefix}…"`;
  const key = bearerToken(header);
  if (key === undefined)
    return `The header Authorization must be "Bearer", a space and the key, which begins with ${prefix}`;
  const other = keyServices.find((each) => each !== service && key.startsWith(keyPrefixes[each]));
  if (other) return `This is a key of the ${other} API. The ${service} API takes keys that begin with ${prefix}`;
  if (!key.startsWith(prefix)) return `Keys of the ${service} API begin with ${prefix}`;
  if (slotOfKey(service, key) === undefined)
    return "The key is cut off or mistyped: its last characters do not fit the rest";
  return "The key is not known here: it was revoked, has ended, or belongs to another installation";
}

export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}

/** The SHA-256 of a key, which is all that the database stores of it. */
export function hashApiKey(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

function checksum(text: string): string {
  let digits = "";
  for (let rest = crc32(text); digits.length < checksumLength; rest = Math.floor(rest / 62)) {
    digits = (alphabet[rest % 62] ?? "") + digits;
  }
  return digits;
}

function toBase62(value: bigint, length: number): string {
  let digits = "";
  for (let rest = value; rest > 0n; rest /= 62n) digits = (alphabet[Number(rest % 62n)] ?? "") + digits;
  return digits.padStart(length, "0");
}

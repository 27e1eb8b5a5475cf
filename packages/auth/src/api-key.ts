import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** The services with keys, and the prefix of each one's keys. */
const keyPrefixes = { trace: "wmk_trace_", analytics: "wmk_stats_" } as const;

export type KeyService = keyof typeof keyPrefixes;

/** The service ids, for choices on the command line. */
export const keyServices = Object.keys(keyPrefixes) as [KeyService, ...KeyService[]];

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretBytes = 32;
/** 62^43 is the first power above 2^256. */
const secretLength = 43;
/** 62^6 is above 2^32, the range of a CRC-32. */
const checksumLength = 6;

/** A new key: `key` is shown once, `hash` is stored, `hint` tells keys apart in a list. */
export interface NewApiKey {
  key: string;
  hash: Buffer;
  hint: string;
}

/** Makes a key: the service's prefix, 32 random bytes in base62, and a checksum (trace contract, "Authentication"). */
export function createApiKey(service: KeyService): NewApiKey {
  const secret = toBase62(BigInt(`0x${randomBytes(secretBytes).toString("hex")}`), secretLength);
  const unchecked = keyPrefixes[service] + secret;
  const key = unchecked + checksum(unchecked);
  return { key, hash: hashApiKey(key), hint: `${keyPrefixes[service]}…${key.slice(-4)}` };
}

/** Whether a text is a well-formed key of the service, by its prefix, length and checksum, without a look-up. */
export function isApiKeyOf(service: KeyService, text: string): boolean {
  const prefix = keyPrefixes[service];
  if (text.length !== prefix.length + secretLength + checksumLength || !text.startsWith(prefix)) return false;
  return text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength));
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

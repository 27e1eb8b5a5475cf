import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import type { CountryDirectory } from "@waymark/analytics";
import type { Request } from "express";
import proxyAddr from "proxy-addr";

/** Who sent a request, as far as the connection tells. */
export interface Client {
  readonly ip: string;
  readonly userAgent: string;
  /** ISO 3166-1 alpha-2, upper case; null where it is not known. */
  readonly country: string | null;
}

export type ClientReader = (request: Request) => Client;

export interface ClientReaderOptions {
  /** Addresses and ranges whose `X-Forwarded-For` and country header are believed. */
  trustedProxies: readonly string[];
  /** The header in which a trusted proxy names the country, such as `CF-IPCountry`. */
  countryHeader: string | undefined;
  countries: CountryDirectory;
}

/** Nothing longer is read of a browser's description, and collectors remember descriptions. */
const userAgentMaxLength = 1_024;

/**
 * Makes the function that says who sent a request. The address is that of the connection, or the last one in
 * `X-Forwarded-For` that no trusted proxy has: whatever a client writes there itself stands further left and is not read.
 */
export function createClientReader({ trustedProxies, countryHeader, countries }: ClientReaderOptions): ClientReader {
  const addressOf = createAddressReader(trustedProxies);
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const readCountry = (request: Request, peer: string) =>
    countryHeader !== undefined && isIP(peer) !== 0 && isTrusted(peer, 0)
      ? countryCode(request.get(countryHeader))
      : undefined;

  return (request) => {
    const ip = addressOf(request);
    const country = readCountry(request, peerOf(request)) ?? countries.countryOf(ip);
    return { ip, userAgent: cut(request.get("user-agent") ?? ""), country };
  };
}

/** Makes the function that gives a client's address alone. */
export function createAddressReader(trustedProxies: readonly string[]): (request: Request) => string {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => {
    const forwarded = proxyAddr(request, isTrusted);
    return withoutMapping(isIP(forwarded) === 0 ? peerOf(request) : forwarded);
  };
}

function peerOf(request: Request): string {
  return request.socket.remoteAddress ?? "";
}

/** An IPv4 address that a socket for both versions shows as IPv6 is the same visitor as on one for IPv4. */
function withoutMapping(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** The start of a header, as a text of its own: a slice would keep the whole header in memory. */
function cut(header: string): string {
  if (header.length <= userAgentMaxLength) return header;
  return Buffer.from(header, "latin1").toString("latin1", 0, userAgentMaxLength);
}

/** Codes that mean "unknown", and whatever is no code, such as Cloudflare's `T1` for Tor, count as no answer. */
function countryCode(header: string | undefined): string | undefined {
  const code = header?.trim().toUpperCase();
  return code !== undefined && /^[A-Z]{2}$/.test(code) && code !== "XX" && code !== "ZZ" ? code : undefined;
}

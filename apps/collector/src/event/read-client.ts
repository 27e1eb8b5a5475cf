import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { CountryDirectory } from "@waymark/web-stats/analytics";
import type { Request } from "express";
import proxyAddr from "proxy-addr";

interface Client {
  readonly ip: string;
  readonly userAgent: string;
  /** ISO 3166-1 alpha-2 in upper case; null if unknown. */
  readonly country: string | null;
}

export type ClientReader = (request: Request) => Client;

interface ClientReaderOptions {
  addressOf(request: Request): string;
  /** Addresses and ranges with a trusted `X-Forwarded-For` and country header. */
  trustedProxies: readonly string[];
  /** The country header of a trusted proxy, such as `CF-IPCountry`. */
  countryHeader: string | undefined;
  countries: CountryDirectory;
}

/** The rest is ignored: caches hold user agents. */
export const userAgentMaxLength = 1_024;

export function createClientReader(options: ClientReaderOptions): ClientReader {
  const { addressOf, trustedProxies, countryHeader, countries } = options;
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

function peerOf(request: Request): string {
  return request.socket.remoteAddress ?? "";
}

/** A copy: a slice would keep the whole header in memory. */
function cut(header: string): string {
  if (header.length <= userAgentMaxLength) return header;
  return Buffer.from(header, "latin1").toString("latin1", 0, userAgentMaxLength);
}

/** Codes for "unknown" and other text, such as Cloudflare's `T1` for Tor, are no answer. */
function countryCode(header: string | undefined): string | undefined {
  const code = header?.trim().toUpperCase();
  return code !== undefined && /^[A-Z]{2}$/.test(code) && code !== "XX" && code !== "ZZ" ? code : undefined;
}

/** Whether a referrer belongs to a spammer of statistics. */
export type SpamCheck = (referrer: string | null) => boolean;

/** A host per line, as Matomo's `spammers.txt`; `#` begins a comment. A host includes its subdomains. */
export async function loadSpamReferrers(file: string | undefined): Promise<SpamCheck> {
  if (file === undefined) return () => false;
  const lines = (await readFile(file, "utf8")).split("\n").map((line) => line.trim().toLowerCase());
  const hosts = new Set(lines.filter((line) => line !== "" && !line.startsWith("#")));
  return (referrer) => {
    if (referrer === null || !URL.canParse(referrer)) return false;
    let host = new URL(referrer).hostname;
    while (host !== "") {
      if (hosts.has(host)) return true;
      const dot = host.indexOf(".");
      host = dot < 0 ? "" : host.slice(dot + 1);
    }
    return false;
  };
}

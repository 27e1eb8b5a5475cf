import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyAddr from "proxy-addr";
import { z } from "zod";

export function trustedProxiesVariable() {
  return z
    .string()
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .refine(
      canBeTrusted,
      "must be addresses or ranges such as 10.0.0.0/8, loopback or uniquelocal, with commas between",
    )
    .default([]);
}

function canBeTrusted(parts: string[]): boolean {
  try {
    proxyAddr.compile(parts);
    return true;
  } catch {
    return false;
  }
}

/** Warns once of a proxy whose addresses of clients nobody reads: limits then count all its clients as one. */
export function createProxyWatch(log: { warn(message: string): void }) {
  const note =
    "X-Forwarded-For came from an address outside TRUSTED_PROXIES: limits count all clients of that proxy as one";
  let isSeen = false;
  return {
    onUntrusted() {
      if (!isSeen) log.warn(note);
      isSeen = true;
    },
    notes: () => (isSeen ? [note] : []),
  };
}

/** The connection's, or the last one in `X-Forwarded-For` of no trusted proxy: clients can write those before. */
export function createAddressReader(
  trustedProxies: readonly string[],
  watch?: ReturnType<typeof createProxyWatch>,
): (request: IncomingMessage) => string {
  const isTrusted = rememberPeer(proxyAddr.compile([...trustedProxies]));
  const find = (request: IncomingMessage) => {
    if (watch && request.headers["x-forwarded-for"] && !isTrusted(request.socket.remoteAddress ?? "", 0)) {
      watch.onUntrusted();
    }
    if (trustedProxies.length === 0) return withoutMapping(request.socket.remoteAddress ?? "");
    const forwarded = proxyAddr(request, isTrusted);
    return withoutMapping(isIP(forwarded) === 0 ? (request.socket.remoteAddress ?? "") : forwarded);
  };
  // Each limit of a request asks.
  const found = Symbol("address");
  return (request: IncomingMessage & { [found]?: string }) => {
    request[found] ??= find(request);
    return request[found];
  };
}

/** Sockets for both versions show IPv4 addresses as IPv6; they are the same client. */
function withoutMapping(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, "");
}

type Trust = (address: string, hops: number) => boolean;

/** Keeps the answer about the last peer: behind a proxy it is the same one again and again, and parsing it takes long. */
function rememberPeer(isTrusted: Trust): Trust {
  let peer: string | undefined;
  let answer = false;
  return (address, hops) => {
    if (hops > 0) return isTrusted(address, hops);
    if (address !== peer) {
      answer = isTrusted(address, hops);
      peer = address;
    }
    return answer;
  };
}

/**
 * The key of an address in limits: an IPv4 address, or the network of so many bits of an IPv6 address. One customer gets at
 * least 64 bits (RFC 6177, 2), and one machine can use all of them; a site often gets 48.
 */
export function addressKey(ip: string, bits: 48 | 64 = 64): string {
  if (!ip.includes(":")) return ip;
  const [head = "", tail] = (ip.split("%")[0] ?? "").split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail ? tail.split(":") : [];
  // An IPv4 address at the end takes two groups.
  const groups = left.length + right.length + (tail?.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups)).fill("0");
  const network = [...left, ...zeros, ...right]
    .slice(0, bits / 16)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/${bits}`;
}

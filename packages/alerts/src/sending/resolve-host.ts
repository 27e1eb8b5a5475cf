import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";

export interface HostAddress {
  address: string;
  family: number;
}

const dnsTimeoutMs = 2_000;

/**
 * The addresses of a host of a URL. Asks name servers without the thread pool, so a name server that hangs delays nobody else;
 * names that it does not know may be in the machine's own list.
 */
export async function resolveHost(hostname: string): Promise<HostAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  if (/^(.*\.)?localhost\.?$/.test(host)) return lookup(host, { all: true });
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: 2 });
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = [...addressesOf(four, 4), ...addressesOf(six, 6)];
  if (found.length > 0) return found;
  if (four.status === "rejected" && four.reason.code === "ETIMEOUT") throw four.reason;
  return lookup(host, { all: true });
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): HostAddress[] {
  return result.status === "fulfilled" ? result.value.map((address) => ({ address, family })) : [];
}

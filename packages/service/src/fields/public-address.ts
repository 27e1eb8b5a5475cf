import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { z } from "zod";

/** Ranges that lead into the own network or nowhere (IANA's registries of special-purpose addresses, RFC 6890). */
const special = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  special.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4 carries an IPv4 address of anybody's choice.
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  special.addSubnet(network, prefix, "ipv6");
}

/** Global unicast. Everything else is special: loopback, mapped and translated IPv4, unique local, link local, multicast. */
const global = new BlockList();
global.addSubnet("2000::", 3, "ipv6");

export interface Networks {
  isEmpty: boolean;
  has(address: string): boolean;
}

/** Private networks in CIDR form with commas between; none by default, and for the 0 of earlier releases. */
export function networksVariable() {
  const message =
    "must be networks in CIDR form with commas between, such as 10.1.0.0/16,fd00::/8; 1 opened all of them and is refused now";
  return z
    .string()
    .default("0")
    .transform((text, context): Networks => {
      const networks = new BlockList();
      for (const part of text === "0" ? [] : text.split(",")) {
        const [network = "", prefix = "", ...others] = part.trim().split("/");
        const family = isIPv4(network) ? "ipv4" : isIPv6(network) && !network.includes("%") ? "ipv6" : undefined;
        const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
        if (family && others.length === 0 && bits <= (family === "ipv4" ? 32 : 128)) {
          networks.addSubnet(network, bits, family);
        } else {
          context.addIssue({ code: "custom", message });
          break;
        }
      }
      const has = (address: string) => isIP(address) > 0 && networks.check(address, isIPv4(address) ? "ipv4" : "ipv6");
      return { isEmpty: networks.rules.length === 0, has };
    });
}

/** Whether an address is on the public internet, so that a server may connect to it for a stranger. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, "ipv4");
  // A zone names an interface of this machine.
  if (!isIPv6(address) || address.includes("%")) return false;
  return global.check(address, "ipv6") && !special.check(address, "ipv6");
}

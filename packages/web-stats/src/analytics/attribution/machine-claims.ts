import { BlockList, isIP, isIPv6 } from "node:net";
import { LRUCache } from "lru-cache";
import type { Machine } from "./machine-list.schema.js";
import type { NamedMachine } from "./machines.js";

/** Whether a request came from where its machine's operator says. */
export type Claim = "verified" | "false" | "unknown";

/** Machines come from a few thousand addresses. */
const maxCachedClaims = 10_000;

/**
 * Makes the function that compares an address with the ranges that a machine's operator publishes. Earlier ranges are not
 * known, so an address outside counts as false only from the day on which the entry was checked.
 */
export function createClaimCheck(): (named: NamedMachine, ip: string | null, day: string) => Claim {
  const networks = new Map<Machine, BlockList>();
  const known = new LRUCache<string, { isInside: boolean }>({ max: maxCachedClaims });
  const networksOf = (machine: Machine): BlockList => {
    const found = networks.get(machine) ?? buildNetworks(machine.ranges ?? []);
    networks.set(machine, found);
    return found;
  };
  return ({ machine }, ip, day) => {
    if (!machine?.ranges || ip === null || isIP(ip) === 0) return "unknown";
    const key = `${machine.name} ${ip}`;
    const found = known.get(key) ?? { isInside: networksOf(machine).check(ip, familyOf(ip)) };
    known.set(key, found);
    if (found.isInside) return "verified";
    return day >= machine.checked ? "false" : "unknown";
  };
}

function buildNetworks(ranges: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    networks.addSubnet(network, Number(bits), familyOf(network));
  }
  return networks;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}

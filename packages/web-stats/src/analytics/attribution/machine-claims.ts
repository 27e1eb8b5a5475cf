import { BlockList, isIP, isIPv6 } from "node:net";
import { isPublicAddress } from "@waymark/service/fields";
import { LRUCache } from "lru-cache";
import type { Machine } from "./machine-list.schema.js";
import type { NamedMachine } from "./machines.js";

/** Whether a request came from where its machine's operator says. */
export type Claim = "verified" | "false" | "unknown";

/** Machines come from a few thousand addresses. */
const maxCachedClaims = 10_000;

/** A claim that the names of the address decide. */
export interface OpenClaim {
  readonly ip: string;
  readonly domains: readonly string[];
  /** Where no name of the address is of these domains. */
  readonly otherwise: "false" | "unknown";
}

/** An address may have had another holder before. */
const namesHoldMs = 7 * 86_400_000;

/**
 * Makes the function that compares an address with the ranges that a machine's operator publishes; an address elsewhere is open
 * where the operator publishes domains. Earlier ranges are not known, so an address outside counts as false only from the day on
 * which the entry was checked. Names are those of now, so a request of more than a week ago is never false by them.
 */
export function createClaimCheck(
  now: () => number = Date.now,
): (named: NamedMachine, ip: string | null, day: string) => Claim | OpenClaim {
  const networks = new Map<Machine, BlockList>();
  const known = new LRUCache<string, { isInside: boolean }>({ max: maxCachedClaims });
  const networksOf = (machine: Machine): BlockList => {
    const found = networks.get(machine) ?? buildNetworks(machine.ranges ?? []);
    networks.set(machine, found);
    return found;
  };
  const isInside = (machine: Machine, ip: string): boolean => {
    const key = `${machine.name} ${ip}`;
    const found = known.get(key) ?? { isInside: networksOf(machine).check(ip, familyOf(ip)) };
    known.set(key, found);
    return found.isInside;
  };
  return ({ machine }, ip, day) => {
    if (!machine || ip === null || isIP(ip) === 0) return "unknown";
    if (machine.ranges && isInside(machine, ip)) return "verified";
    const isChecked = day >= machine.checked;
    if (machine.domains && isPublicAddress(ip)) {
      const isRecent = now() - Date.parse(day) < namesHoldMs;
      return { ip, domains: machine.domains, otherwise: isChecked && isRecent ? "false" : "unknown" };
    }
    return machine.ranges && isChecked ? "false" : "unknown";
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

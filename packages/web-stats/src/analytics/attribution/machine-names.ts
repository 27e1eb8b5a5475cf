import { BlockList, isIPv6 } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Claim, OpenClaim } from "./machine-claims.js";

/** The part of `Resolver` of `node:dns/promises` that names addresses. */
export interface NameResolver {
  resolvePtr(name: string): Promise<string[]>;
  resolve4(host: string): Promise<string[]>;
  resolve6(host: string): Promise<string[]>;
}

/** Asks the system's name servers; each answer within a second. */
export const lookupOptions = { timeout: 1_000, tries: 1 } as const;

/** Lookups under way: of one owner and of all. Names of an address, in an answer and looked up again. */
const bounds = { perOwner: 16, inAll: 64, names: 16, confirmed: 4 } as const;

/** Addresses whose answer is remembered, each for an hour. */
const [maxKnown, knownMs] = [10_000, 3_600_000];

/** After so many lookups in a row without an answer their owner makes none for a minute: without name servers an import would crawl. */
const [maxFailures, pauseMs] = [8, 60_000];

interface Owner {
  lookups: number;
  failures: number;
  pausedUntil: number;
}

const maxOwners = 1_000;

/** Codes of DNS for a name without such records. */
const emptyCodes: ReadonlySet<string | undefined> = new Set(["ENODATA", "ENOTFOUND"]);

/**
 * Makes the function that decides open claims by the names of their addresses (forward-confirmed reverse DNS). It waits at most for
 * the given time; later answers are remembered. A claim without an answer, or of an owner with too many lookups, is unknown.
 */
export function createClaimSettler(resolver: NameResolver | undefined) {
  const known = new LRUCache<string, { isNamed: boolean }>({ max: maxKnown, ttl: knownMs });
  const running = new Map<string, Promise<void>>();
  const owners = new LRUCache<string, Owner>({
    max: maxOwners,
    memoMethod: () => ({ lookups: 0, failures: 0, pausedUntil: 0 }),
  });

  async function ask(names: NameResolver, owner: Owner, key: string, { ip, domains }: OpenClaim): Promise<void> {
    owner.lookups++;
    try {
      known.set(key, { isNamed: await isNamed(names, ip, domains) });
      owner.failures = 0;
    } catch {
      if (++owner.failures < maxFailures) return;
      [owner.failures, owner.pausedUntil] = [0, performance.now() + pauseMs];
    } finally {
      owner.lookups--;
      running.delete(key);
    }
  }

  function start(names: NameResolver, owner: Owner, key: string, claim: OpenClaim): Promise<void> | undefined {
    const isFull = owner.lookups >= bounds.perOwner || running.size >= bounds.inAll;
    if (isFull || performance.now() < owner.pausedUntil) return undefined;
    const asked = ask(names, owner, key, claim);
    running.set(key, asked);
    return asked;
  }

  return async (owner: string, claims: readonly OpenClaim[], waitMs: number): Promise<(claim: OpenClaim) => Claim> => {
    const open = new Map(claims.map((claim) => [keyOf(claim), claim]));
    for (const key of open.keys()) if (known.has(key)) open.delete(key);
    if (resolver && open.size > 0) {
      const stop = new AbortController();
      const left = open.entries();
      const work = async () => {
        for (const [key, claim] of left) {
          if (stop.signal.aborted) return;
          const asked = running.get(key) ?? start(resolver, owners.memo(owner), key, claim);
          if (!asked) return;
          await asked;
        }
      };
      const all = Promise.all(Array.from({ length: bounds.perOwner }, work));
      const over = setTimeout(waitMs, undefined, { signal: stop.signal }).catch(() => undefined);
      await Promise.race([all, over]);
      stop.abort();
    }
    return (claim) => {
      const found = known.get(keyOf(claim));
      if (!found) return "unknown";
      return found.isNamed ? "verified" : claim.otherwise;
    };
  };
}

const keyOf = ({ ip, domains }: OpenClaim) => `${ip} ${domains.join(" ")}`;

/** @throws the error of a name server that gives no answer */
async function isNamed(resolver: NameResolver, ip: string, domains: readonly string[]): Promise<boolean> {
  const names = (await orNone(resolver.resolvePtr(reverseNameOf(ip))))
    .slice(0, bounds.names)
    .map((name) => name.toLowerCase());
  const fitting = names.filter((name) => domains.some((domain) => name === domain || name.endsWith(`.${domain}`)));
  const family = isIPv6(ip) ? "ipv6" : "ipv4";
  const wanted = new BlockList();
  wanted.addAddress(ip, family);
  for (const name of fitting.slice(0, bounds.confirmed)) {
    const addresses = await orNone(family === "ipv6" ? resolver.resolve6(name) : resolver.resolve4(name));
    if (addresses.some((address) => wanted.check(address, family))) return true;
  }
  return false;
}

/** `9.2.0.192.in-addr.arpa` (RFC 1035, 3.5), and of IPv6 each hexadecimal digit (RFC 3596, 2.5). */
function reverseNameOf(ip: string): string {
  if (!isIPv6(ip)) return `${ip.split(".").reverse().join(".")}.in-addr.arpa`;
  const [start = [], end = []] = new URL(`http://[${ip}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - start.length - end.length }, () => "0");
  const digits = [...start, ...zeros, ...end].map((group) => group.padStart(4, "0")).join("");
  return `${[...digits].reverse().join(".")}.ip6.arpa`;
}

async function orNone(answer: Promise<string[]>): Promise<string[]> {
  return answer.catch((error: NodeJS.ErrnoException) => {
    if (emptyCodes.has(error.code)) return [];
    throw error;
  });
}

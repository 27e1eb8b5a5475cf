import { createRequire } from "node:module";
import { BlockList, isIP } from "node:net";
import { LRUCache } from "lru-cache";
import { open, type Response } from "maxmind";

/**
 * Ranges outside the internet: IANA's special-purpose registries (RFC 6890) and multicast (RFC 5771, RFC 4291). Networks get
 * IPv6 from `2000::/3` only, so the rest needs no list.
 */
const specialIpv4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];
const specialIpv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const special = new BlockList();
for (const range of specialIpv4) addRange(range, "ipv4");
for (const range of specialIpv6) addRange(range, "ipv6");
const given = new BlockList();
given.addSubnet("2000::", 3, "ipv6");

/** An IPv4 address in IPv6 form, such as `::ffff:192.0.2.1`. */
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The address to look up, if a network of the internet may have it.
 * @returns null for private, shared, loopback, link-local, documentation and multicast addresses, and for any other text
 */
function globalAddress(text: string): string | null {
  const address = mapped.exec(text)?.[1] ?? text;
  const version = isIP(address);
  if (version === 4) return special.check(address, "ipv4") ? null : address;
  if (version === 6) return given.check(address, "ipv6") && !special.check(address, "ipv6") ? address : null;
  return null;
}

function addRange(range: string, version: "ipv4" | "ipv6"): void {
  const [network = "", bits] = range.split("/");
  special.addSubnet(network, Number(bits), version);
}

export interface CountryDirectory {
  /** @returns ISO 3166-1 alpha-2 in upper case; null if unknown. Databases name a country even for private addresses: null too. */
  countryOf(ip: string): string | null;
}

/** The first form is ip-location-db's, the second MaxMind's and DB-IP's. */
type CountryRecord = Response & { country_code?: unknown; country?: { iso_code?: unknown } };

/** Visitors send several events, and a look-up takes longer than this cache. */
const maxCachedAddresses = 10_000;

/**
 * Opens a country database in MaxMind's format and reads it into memory.
 * @param file undefined for Waymark's own
 * @throws the error of reading the file
 */
export async function openCountryDirectory(file: string | undefined): Promise<CountryDirectory> {
  const own = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";
  const path = file ?? createRequire(import.meta.url).resolve(own);
  const reader = await open<CountryRecord>(path);
  const find = (ip: string): string | null => {
    const address = globalAddress(ip);
    if (address === null) return null;
    const record = reader.get(address);
    const code = record?.country_code ?? record?.country?.iso_code;
    return typeof code === "string" && /^[A-Z]{2}$/.test(code) && code !== "ZZ" ? code : null;
  };
  const countries = new LRUCache<string, { code: string | null }>({
    max: maxCachedAddresses,
    memoMethod: (ip) => ({ code: find(ip) }),
  });
  return { countryOf: (ip) => countries.memo(ip).code };
}

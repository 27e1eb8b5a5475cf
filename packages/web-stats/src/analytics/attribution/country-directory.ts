import { createRequire } from "node:module";
import { isPublicAddress } from "@waymark/service/fields";
import { LRUCache } from "lru-cache";
import { open, type Response } from "maxmind";

/** An IPv4 address in IPv6 form, such as `::ffff:192.0.2.1`. */
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export interface CountryDirectory {
  /** @returns ISO 3166-1 alpha-2 in upper case; null if unknown. Databases name a country even for private addresses: null too. */
  countryOf(ip: string): string | null;
}

/** The first form is ip-location-db's, the second MaxMind's and DB-IP's. */
type CountryRecord = Response & { country_code?: unknown; country?: { iso_code?: unknown } };

/** Visitors send several events, and a look-up takes longer than this cache. */
const maxCachedAddresses = 10_000;

/** Reads a country database in MaxMind's format into memory; Waymark's own without a file. */
export async function openCountryDirectory(file: string | undefined): Promise<CountryDirectory> {
  const own = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";
  const path = file ?? createRequire(import.meta.url).resolve(own);
  const reader = await open<CountryRecord>(path);
  const find = (ip: string): string | null => {
    const address = mapped.exec(ip)?.[1] ?? ip;
    if (!isPublicAddress(address)) return null;
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

import { createRequire } from "node:module";
import { open, type Response } from "maxmind";
import { globalAddress } from "./global-address.js";

/** Tells where addresses are. */
export interface CountryDirectory {
  /** @returns ISO 3166-1 alpha-2, upper case; null where it is not known, or the text is no address of the
   * internet: databases name a country even for private ones */
  countryOf(ip: string): string | null;
}

/** A record of a country database: of ip-location-db in its first form, of MaxMind and DB-IP in the second. */
type CountryRecord = Response & { country_code?: unknown; country?: { iso_code?: unknown } };

/** Addresses whose country is remembered. */
const maxRemembered = 10_000;

/**
 * Opens a country database in MaxMind's format, which is read into memory.
 * @param file undefined for the one that comes with Waymark
 * @throws what reading the file throws
 */
export async function openCountryDirectory(file: string | undefined): Promise<CountryDirectory> {
  const own = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";
  const path = file ?? createRequire(import.meta.url).resolve(own);
  const reader = await open<CountryRecord>(path, { cache: { max: maxRemembered } });
  return {
    countryOf(ip) {
      const address = globalAddress(ip);
      if (address === null) return null;
      const record = reader.get(address);
      const code = record?.country_code ?? record?.country?.iso_code;
      return typeof code === "string" && /^[A-Z]{2}$/.test(code) && code !== "ZZ" ? code : null;
    },
  };
}

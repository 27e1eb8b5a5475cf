import { describe, expect, it } from "@jest/globals";
import { openCountryDirectory } from "./country-directory.js";

describe("openCountryDirectory", () => {
  it("knows the countries of both kinds of addresses, and of nothing else", async () => {
    const { countryOf } = await openCountryDirectory(undefined);
    expect(["8.8.8.8", "81.2.69.142", "193.0.6.139", "2a02:8108::1"].map(countryOf)).toEqual(["US", "GB", "NL", "DE"]);
    expect(["127.0.0.1", "10.0.0.1", "::1", "", "8.8.8", "nonsense"].map(countryOf)).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });

  it.each([
    ["unspecified", "0.0.0.0", "::"],
    ["loopback", "127.0.0.1", "::1"],
    ["private", "10.0.0.1", "172.17.0.1", "192.168.1.1", "fd00::1"],
    ["shared by a provider's customers", "100.64.0.1", "100.127.255.255"],
    ["link-local", "169.254.1.1", "fe80::1", "fe80::1%eth0"],
    ["documentation", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    ["of measurements", "198.18.0.1", "198.19.255.255"],
    ["multicast and reserved", "224.0.0.1", "240.0.0.1", "255.255.255.255", "ff02::1"],
    ["a private address written as IPv6", "::ffff:192.168.1.1", "::ffff:c0a8:0101"],
  ])("knows no country for an address that is %s", async (_kind, ...addresses) => {
    const { countryOf } = await openCountryDirectory(undefined);
    expect(addresses.map(countryOf)).toEqual(addresses.map(() => null));
  });

  it("knows the neighbours of those, and an IPv4 address however it is written", async () => {
    const { countryOf } = await openCountryDirectory(undefined);
    const global = [
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "172.15.255.255",
      "192.167.255.255",
      "::ffff:8.8.8.8",
    ];
    for (const address of global) expect(countryOf(address)).toMatch(/^[A-Z]{2}$/);
  });

  it("refuses a file that is no database", async () => {
    await expect(openCountryDirectory(new URL(import.meta.url).pathname)).rejects.toThrow();
  });
});

import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isPublicAddress, networksVariable } from "./public-address.js";

describe("isPublicAddress", () => {
  it.each([
    ...["1.1.1.1", "8.8.8.8", "100.128.0.1", "172.15.255.255", "172.32.0.0", "223.255.255.255"],
    ...["2606:4700:4700::1111", "2a00:1450:4001:82b::200e"],
  ])("takes %s", (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    ["nothing", ""],
    ["a name", "localhost"],
    ["this network", "0.0.0.0"],
    ["loopback", "127.0.0.1"],
    ["loopback", "127.255.255.254"],
    ["private", "10.0.0.1"],
    ["private", "172.16.0.1"],
    ["private", "172.31.255.255"],
    ["private", "192.168.1.1"],
    ["carrier", "100.64.0.1"],
    ["metadata of clouds", "169.254.169.254"],
    ["carrier", "100.127.255.255"],
    ["protocols", "192.0.0.8"],
    ["documentation", "192.0.2.1"],
    ["benchmarks", "198.18.0.1"],
    ["documentation", "198.51.100.1"],
    ["documentation", "203.0.113.1"],
    ["multicast", "224.0.0.1"],
    ["multicast", "239.255.255.255"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
    ["loopback of IPv6", "::1"],
    ["unspecified", "::"],
    ["mapped loopback", "::ffff:127.0.0.1"],
    ["mapped loopback in hexadecimal", "::ffff:7f00:1"],
    ["mapped public", "::ffff:8.8.8.8"],
    ["compatible loopback", "::127.0.0.1"],
    ["translated metadata", "64:ff9b::a9fe:a9fe"],
    ["translated private", "64:ff9b:1::a00:1"],
    ["discard", "100::1"],
    ["documentation", "3fff::1"],
    ["unique local", "fc00::1"],
    ["site local", "fec0::1"],
    ["6to4 of loopback", "2002:7f00:1::"],
    ["Teredo", "2001:0:7f00:1::"],
    ["documentation", "2001:db8::1"],
    ["unique local", "fd00:ec2::254"],
    ["link local", "fe80::1"],
    ["link local with a zone", "fe80::1%eth0"],
    ["public with a zone", "2606:4700::1%eth0"],
    ["multicast of IPv6", "ff02::1"],
  ])("refuses %s: %s", (_what, address) => expect(isPublicAddress(address)).toBe(false));

  it("refuses every mapped address", () => {
    fc.assert(fc.property(fc.ipV4(), (address) => isPublicAddress(`::ffff:${address}`) === false));
  });
});

describe("the variable of private networks", () => {
  it("has the addresses of its networks, mapped ones too, and none without any", () => {
    const networks = networksVariable().parse("10.1.0.0/16, fd00::/8");
    const asked = ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "10.2.0.1", "fe80::1", "localhost"];
    expect(asked.map((address) => networks.has(address))).toEqual([true, true, true, false, false, false]);
    expect(networks.isEmpty).toBe(false);
    for (const none of [undefined, "0"]) expect(networksVariable().parse(none).isEmpty).toBe(true);
  });

  it.each(["1", "10.0.0.1", "10.0.0.0/33", "fd00::/129", "10.0.0.0/8,", "here/8", "10.0.0.0/8/8"])(
    "refuses %s",
    (text) => {
      expect(networksVariable().safeParse(text).error?.issues).toMatchObject([
        { message: expect.stringMatching(/^must be networks in CIDR form.* 1 opened all of them and is refused now$/) },
      ]);
    },
  );
});

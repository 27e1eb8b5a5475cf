import { describe, expect, it } from "@jest/globals";
import { addressKey } from "./address-key.js";
import { createTokenBuckets } from "./token-buckets.js";

describe("token buckets", () => {
  it("give ten seconds' worth at once, and then as many a second as they refill", () => {
    let now = 0;
    const buckets = createTokenBuckets({ perSecond: 20, maxKeys: 10, clock: () => now });
    const taken = () => {
      let count = 0;
      while (!buckets.take("a", 1)) count++;
      return count;
    };
    expect(taken()).toBe(200);
    expect(buckets.take("a", 1)).toEqual({ retryAfterSeconds: 1 });
    expect(buckets.take("b", 1)).toBeUndefined();
    now = 1_000;
    expect(taken()).toBe(20);
    now = 3_600_000;
    expect(taken()).toBe(200);
  });

  it("owe what was charged, and say when it is paid", () => {
    let now = 0;
    const buckets = createTokenBuckets({ perSecond: 2, maxKeys: 10, clock: () => now });
    buckets.charge("a", 30);
    expect(buckets.take("a", 1)).toEqual({ retryAfterSeconds: 6 });
    now = 6_000;
    expect(buckets.take("a", 1)).toBeUndefined();
  });

  it("remember as many keys as they may, those used last, and nothing without a limit", () => {
    const buckets = createTokenBuckets({ perSecond: 1, maxKeys: 3, clock: () => 0 });
    buckets.charge("a", 10);
    for (const key of ["b", "c", "a", "d", "e"]) buckets.take(key, 1);
    expect(buckets.size).toBe(3);
    expect(buckets.take("a", 1)).toBeDefined();
    const off = createTokenBuckets({ perSecond: 0, maxKeys: 3, clock: () => 0 });
    for (let n = 0; n < 1_000; n++) expect(off.take("a", 1)).toBeUndefined();
    expect(off.size).toBe(0);
  });
});

describe("the key of an address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["1::2:3:4:5:6", "1:0:0:2::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ])("of %s is %s", (ip, key) => {
    expect(addressKey(ip)).toBe(key);
  });
});

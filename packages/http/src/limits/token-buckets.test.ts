import { describe, expect, it } from "@jest/globals";
import { createTokenBuckets } from "./token-buckets.js";

describe("token buckets", () => {
  it("give a burst at once, and then as many a second as they refill", () => {
    let now = 0;
    const buckets = createTokenBuckets({ perSecond: 20, burstSeconds: 10, maxKeys: 10, clock: () => now });
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

  it("go below zero for what was charged, and say when they are above it again", () => {
    let now = 0;
    const buckets = createTokenBuckets({ perSecond: 2, burstSeconds: 10, maxKeys: 10, clock: () => now });
    buckets.charge("a", 30);
    expect(buckets.take("a", 1)).toEqual({ retryAfterSeconds: 6 });
    now = 6_000;
    expect(buckets.take("a", 1)).toBeUndefined();
  });

  it("remember as many keys as they may, those used last, and nothing without a limit", () => {
    const buckets = createTokenBuckets({ perSecond: 1, burstSeconds: 10, maxKeys: 3, clock: () => 0 });
    buckets.charge("a", 10);
    for (const key of ["b", "c", "a", "d", "e"]) buckets.take(key, 1);
    expect(buckets.size).toBe(3);
    expect(buckets.take("a", 1)).toBeDefined();
    const off = createTokenBuckets({ perSecond: 0, burstSeconds: 10, maxKeys: 3, clock: () => 0 });
    for (let n = 0; n < 1_000; n++) expect(off.take("a", 1)).toBeUndefined();
    expect(off.size).toBe(0);
  });
});

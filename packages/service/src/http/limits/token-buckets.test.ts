import { describe, expect, it } from "@jest/globals";
import { createTokenBuckets } from "./token-buckets.js";

describe("token buckets", () => {
  it("give a burst at once, and then as many a second as they refill", () => {
    let now = 0;
    const buckets = createTokenBuckets({
      name: "test",
      perSecond: 20,
      burstSeconds: 10,
      maxKeys: 10,
      clock: () => now,
    });
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
    const buckets = createTokenBuckets({ name: "test", perSecond: 2, burstSeconds: 10, maxKeys: 10, clock: () => now });
    buckets.charge("a", 30);
    expect(buckets.take("a", 1)).toEqual({ retryAfterSeconds: 6 });
    now = 6_000;
    expect(buckets.take("a", 1)).toBeUndefined();
  });

  it("remember as many keys as they may, those used last, and nothing without a limit", () => {
    const buckets = createTokenBuckets({ name: "test", perSecond: 1, burstSeconds: 10, maxKeys: 3, clock: () => 0 });
    buckets.charge("a", 10);
    for (const key of ["b", "c", "a", "d", "e"]) buckets.take(key, 1);
    expect(buckets.size).toBe(3);
    expect(buckets.take("a", 1)).toBeDefined();
    const off = createTokenBuckets({ name: "test", perSecond: 0, burstSeconds: 10, maxKeys: 3, clock: () => 0 });
    for (let n = 0; n < 1_000; n++) expect(off.take("a", 1)).toBeUndefined();
    expect(off.size).toBe(0);
  });

  it("miss what siblings take, below zero if both took at once", () => {
    const hears: ((key: string, amount: number) => void)[] = [];
    let now = 0;
    const open = () => {
      const siblings = {
        spend(_topic: string, hear: (key: string, amount: number) => void) {
          const own = hears.push(hear) - 1;
          return (key: string, amount: number) => {
            for (const [index, each] of hears.entries()) if (index !== own) each(key, amount);
          };
        },
      };
      return createTokenBuckets({ name: "t", perSecond: 1, burstSeconds: 4, maxKeys: 9, clock: () => now, siblings });
    };
    const [one, two] = [open(), open()];
    expect([one.take("a", 2), two.take("a", 1), one.take("a", 1)]).toEqual([undefined, undefined, undefined]);
    expect(two.take("a", 1)).toEqual({ retryAfterSeconds: 1 });
    // As when both took before they heard of each other.
    for (const hear of hears) hear("a", 2);
    now = 2_000;
    expect([one.take("a", 1), two.take("a", 1)]).toEqual([{ retryAfterSeconds: 1 }, { retryAfterSeconds: 1 }]);
    now = 3_000;
    expect([one.take("a", 1), two.take("a", 1)]).toEqual([undefined, { retryAfterSeconds: 1 }]);
  });
});

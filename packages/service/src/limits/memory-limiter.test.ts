import { describe, expect, it } from "@jest/globals";
import { createMemoryLimiter } from "./create-limiter.js";

describe("the count in memory", () => {
  it("allows 60 in a minute, and starts anew after it", () => {
    let now = 0;
    const limiter = createMemoryLimiter(60, 60_000, () => now);
    for (let n = 59; n >= 0; n--) expect(limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: n });
    now = 59_999;
    expect(limiter.spend("key")).toEqual({ isAllowed: false, remaining: 0, resetSeconds: 1 });
    expect(limiter.spend("other")).toEqual({ isAllowed: true, remaining: 59, resetSeconds: 60 });
    now = 60_000;
    expect(limiter.spend("key")).toEqual({ isAllowed: true, remaining: 59, resetSeconds: 60 });
  });

  it("remembers 10,000 keys and no more", () => {
    const limiter = createMemoryLimiter(60, 60_000, () => 0);
    for (let n = 0; n < 10_100; n++) limiter.spend(`key-${n}`);
    expect(limiter.size).toBe(10_000);
    expect(limiter.spend("key-10099")).toMatchObject({ remaining: 58 });
    expect(limiter.spend("key-0")).toMatchObject({ remaining: 59 });
  });
});

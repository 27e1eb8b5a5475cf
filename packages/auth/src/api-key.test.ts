import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createApiKey, hashApiKey, isApiKeyOf, keyServices } from "./api-key.js";

describe("createApiKey", () => {
  it("makes keys whose prefix names the service, of one length, and accepts them for that service alone", () => {
    for (let n = 0; n < 200; n++) {
      const trace = createApiKey("trace").key;
      expect(trace).toMatch(/^wmk_trace_[0-9A-Za-z]{49}$/);
      expect(isApiKeyOf("trace", trace)).toBe(true);
      expect(isApiKeyOf("analytics", trace)).toBe(false);
      const stats = createApiKey("analytics").key;
      expect(stats).toMatch(/^wmk_stats_[0-9A-Za-z]{49}$/);
      expect(isApiKeyOf("analytics", stats)).toBe(true);
    }
  });

  it("gives the SHA-256 to store and a hint that does not give the key away", () => {
    const { key, hash, hint } = createApiKey("trace");
    expect(hash.equals(createHash("sha256").update(key).digest())).toBe(true);
    expect(hashApiKey(key).equals(hash)).toBe(true);
    expect(hint).toBe(`wmk_trace_…${key.slice(-4)}`);
  });
});

describe("isApiKeyOf", () => {
  it("refuses a key with any one character changed, dropped or added", () => {
    const { key } = createApiKey("trace");
    const character = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ é");
    fc.assert(
      fc.property(fc.nat({ max: key.length - 1 }), character, (at, other) => {
        fc.pre(key[at] !== other);
        expect(isApiKeyOf("trace", key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
        expect(isApiKeyOf("trace", key.slice(0, at) + key.slice(at + 1))).toBe(false);
        expect(isApiKeyOf("trace", key.slice(0, at) + other + key.slice(at))).toBe(false);
      }),
    );
  });

  it("refuses any other text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const service of keyServices) expect(isApiKeyOf(service, text)).toBe(false);
      }),
    );
  });
});

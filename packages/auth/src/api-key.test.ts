import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createApiKey, hashApiKey, keyProblem, keyServices, slotOfKey } from "./api-key.js";

/** The form of earlier releases, with its checksum. */
const keyWithoutSlot = "wmk_trace_ExampleExampleExampleExampleExampleExampleE3n7wd6";

describe("createApiKey", () => {
  it("makes keys with the service's prefix and the slot, of one length, and accepts them for that service alone", () => {
    for (let n = 0; n < 200; n++) {
      const trace = createApiKey("trace", "a3").key;
      expect(trace).toMatch(/^wmk_trace_a3_[0-9A-Za-z]{49}$/);
      expect(slotOfKey("trace", trace)).toBe("a3");
      expect(slotOfKey("analytics", trace)).toBeUndefined();
      const stats = createApiKey("analytics", "ff").key;
      expect(stats).toMatch(/^wmk_stats_ff_[0-9A-Za-z]{49}$/);
      expect(slotOfKey("analytics", stats)).toBe("ff");
    }
  });

  it("gives the SHA-256 to store and a hint that does not give the key away", () => {
    const { key, hash, hint } = createApiKey("trace", "00");
    expect(hash.equals(createHash("sha256").update(key).digest())).toBe(true);
    expect(hashApiKey(key).equals(hash)).toBe(true);
    expect(hint).toBe(`wmk_trace_…${key.slice(-4)}`);
  });
});

describe("slotOfKey", () => {
  it("puts keys of earlier releases into slot 00", () => {
    expect(slotOfKey("trace", keyWithoutSlot)).toBe("00");
    expect(slotOfKey("trace", keyWithoutSlot.replace("wmk_trace_", "wmk_trace_00_"))).toBeUndefined();
  });

  it.each([keyWithoutSlot, createApiKey("trace", "7e").key])(
    "refuses %s with any one character changed, dropped or added",
    (key) => {
      const character = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ é");
      fc.assert(
        fc.property(fc.nat({ max: key.length - 1 }), character, (at, other) => {
          fc.pre(key[at] !== other);
          expect(slotOfKey("trace", key.slice(0, at) + other + key.slice(at + 1))).toBeUndefined();
          expect(slotOfKey("trace", key.slice(0, at) + key.slice(at + 1))).toBeUndefined();
          expect(slotOfKey("trace", key.slice(0, at) + other + key.slice(at))).toBeUndefined();
        }),
      );
    },
  );

  it("refuses any other text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const service of keyServices) expect(slotOfKey(service, text)).toBeUndefined();
      }),
    );
  });
});

describe("keyProblem", () => {
  const { key } = createApiKey("trace");
  it.each([
    [undefined, /Send the header "Authorization: Bearer wmk_trace_…"/],
    [key, /must be "Bearer", a space and the key/],
    [
      `Bearer ${createApiKey("analytics").key}`,
      /a key of the analytics API\. The trace API takes keys that begin with wmk_trace_/,
    ],
    ["Bearer sk-lf-1", /begin with wmk_trace_/],
    [`Bearer ${key.slice(0, -1)}`, /cut off or mistyped/],
    [`Bearer ${key}`, /not known here/],
  ])("says what is wrong with %s", (header, problem) => {
    expect(keyProblem("trace", header)).toMatch(problem);
  });
});

import { describe, expect, it } from "@jest/globals";
import { hashPseudonym, hashVisitor } from "./hash-visitor.js";

const site = "0196e0b0-0000-7000-8000-000000000001";

describe("a visitor", () => {
  const salt = Buffer.alloc(32, 7);

  it("is the same for the same salt, site, address and browser, and another when one of them differs", () => {
    const visitor = hashVisitor(salt, site, "192.0.2.1", "Browser");
    expect(hashVisitor(salt, site, "192.0.2.1", "Browser")).toBe(visitor);
    const others = [
      hashVisitor(Buffer.alloc(32, 8), site, "192.0.2.1", "Browser"),
      hashVisitor(salt, "other", "192.0.2.1", "Browser"),
      hashVisitor(salt, site, "192.0.2.2", "Browser"),
      hashVisitor(salt, site, "192.0.2.1", "Browse"),
      hashVisitor(salt, site, "192.0.2.1B", "rowser"),
    ];
    expect(new Set([visitor, ...others]).size).toBe(6);
    expect(BigInt.asIntN(64, BigInt(visitor)).toString()).toBe(visitor);
  });

  it("named by a pseudonym is another one each day and on each site", () => {
    const visitor = hashPseudonym(site, "2026-05-01", "17");
    expect(hashPseudonym(site, "2026-05-01", "17")).toBe(visitor);
    expect(hashPseudonym(site, "2026-05-02", "17")).not.toBe(visitor);
    expect(hashPseudonym("other", "2026-05-01", "17")).not.toBe(visitor);
  });
});

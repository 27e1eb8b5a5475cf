import { describe, expect, it } from "@jest/globals";
import { Registry } from "prom-client";
import { createRefusals, createShares } from "./shares.js";

describe("shares", () => {
  it("keep places for accounts without any", () => {
    const reason = (most: number) => `At most ${most} things`;
    const limits = { name: "things", total: 10, perAccount: 5, keptForNew: 3, reason };
    const shares = createShares(limits, createRefusals(new Registry()));
    expect(shares.take("a", 5) ?? shares.take("b", 1) ?? shares.take("b", 1)).toBeUndefined();
    expect(shares.take("a", 1)?.body["reason"]).toBe("At most 5 things of one account");
    expect(shares.take("b", 1)?.body["reason"]).toBe("At most 7 things of all accounts together");
    expect(shares.take("c", 1) ?? shares.take("d", 1) ?? shares.take("e", 1)).toBeUndefined();
    expect(shares.take("f", 1)?.body["reason"]).toBe("At most 10 things of all accounts together");
    shares.give("a", 5);
    expect(shares.take("b", 1)).toBeUndefined();
  });
});

import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createTurns } from "./work-shares.js";

describe("createTurns", () => {
  it("gives one turn for each round of the event loop, to owners one after the other", async () => {
    const turn = createTurns();
    const order: string[] = [];
    const work = async (owner: string) => {
      await turn(owner);
      order.push(owner);
    };
    const all = ["a", "a", "a", "b", "c"].map(work);
    const seen: number[] = [];
    for (let round = 0; round < 6; round++) {
      await setImmediate();
      seen.push(order.length);
    }
    await Promise.all(all);
    expect(order).toEqual(["a", "b", "c", "a", "a"]);
    for (const [round, turns] of seen.entries()) expect(turns).toBeLessThanOrEqual(round + 1);
    await work("d");
    expect(order).toHaveLength(6);
  });
});

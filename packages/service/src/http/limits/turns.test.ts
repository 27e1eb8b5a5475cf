import { setImmediate } from "node:timers/promises";
import { describe, expect, it, jest } from "@jest/globals";
import { createTurns, inSteps } from "./work-shares.js";

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

describe("inSteps", () => {
  it("takes a few milliseconds of a round for all generators together, and lets short ones begin meanwhile", async () => {
    let ms = performance.now();
    const clock = jest.spyOn(performance, "now").mockImplementation(() => ms);
    let steps = 0;
    function* work(count: number) {
      for (let step = 0; step < count; step++) {
        ms += 0.5;
        steps++;
        yield;
      }
      return count;
    }
    const long = Array.from({ length: 40 }, () => inSteps(work(100)));
    const stepsOfRounds: number[] = [];
    let shortAt: number | undefined;
    let isOver = false;
    const all = Promise.all(long).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const before = steps;
      await setImmediate();
      stepsOfRounds.push(steps - before);
      // All have begun.
      if (stepsOfRounds.length === 100) void inSteps(work(1)).then(() => (shortAt = stepsOfRounds.length));
    }
    clock.mockRestore();
    expect(await all).toEqual(long.map(() => 100));
    expect(Math.max(...stepsOfRounds)).toBeLessThanOrEqual(12);
    expect(shortAt).toBeLessThanOrEqual(102);
  });

  it("rejects with what a step throws", async () => {
    function* fail(): Generator<void, never> {
      yield;
      throw new Error("no");
    }
    await expect(inSteps(fail())).rejects.toThrow("no");
  });
});

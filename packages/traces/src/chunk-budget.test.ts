import { describe, expect, it } from "@jest/globals";
import { type ChunkBudget, createChunkBudget } from "./get-large-trace.query.js";

const all = 64 * 1_048_576;
const share = all / 4;

/** Takes from the budget; the result tells whether the chunk fits by now. */
async function take(budget: ChunkBudget, accountId: string, bytes: number) {
  let taken: number | undefined;
  void budget.take(accountId, bytes).then((given) => {
    taken = given;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return () => taken;
}

describe("the budget of large chunks", () => {
  it("gives an account its share at most, again and again", async () => {
    const budget = createChunkBudget();
    for (let round = 0; round < 3; round++) {
      expect((await take(budget, "a", 2 * share))()).toBe(share);
      const next = await take(budget, "a", 1);
      expect(next()).toBeUndefined();
      budget.give("a", share);
      await new Promise((resolve) => setImmediate(resolve));
      expect(next()).toBe(1);
      budget.give("a", 1);
    }
  });

  it("gives all accounts its bytes at most, and goes on with the first that gives back", async () => {
    const budget = createChunkBudget();
    for (const accountId of ["a", "b", "c", "d"]) expect((await take(budget, accountId, share))()).toBe(share);
    const next = await take(budget, "e", 1);
    expect(next()).toBeUndefined();
    budget.give("b", share);
    await new Promise((resolve) => setImmediate(resolve));
    expect(next()).toBe(1);
    expect((await take(budget, "f", share - 1))()).toBe(share - 1);
    expect((await take(budget, "g", 1))()).toBeUndefined();
  });
});

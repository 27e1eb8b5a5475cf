import { expect, it } from "@jest/globals";
import { createTurns } from "./turns.js";

it("runs so many works at a time, the others in order, also after a failure", async () => {
  const inTurn = createTurns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const works = [0, 1, 2, 3].map((n) =>
    inTurn(async () => {
      begun.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (n === 0) throw new Error("failed");
      return n;
    }).catch(() => -1),
  );
  expect(begun).toEqual([0, 1]);
  ends[0]?.();
  expect(await works[0]).toBe(-1);
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  ends[1]?.();
  await works[1];
  ends[2]?.();
  await works[2];
  ends[3]?.();
  expect(await Promise.all(works)).toEqual([-1, 1, 2, 3]);
});

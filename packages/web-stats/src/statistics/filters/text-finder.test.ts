import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { createFinder } from "./filter.js";

describe("a text finder", () => {
  it("finds the first end of one of its texts, as indexOf does", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 9 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), text, fc.nat(9), (wanted, searched, from) => {
        const ends = wanted.flatMap((one) => {
          const found = searched.indexOf(one, from);
          return found < 0 ? [] : [found + one.length];
        });
        fc.pre(from <= searched.length);
        expect(createFinder(wanted)(searched, from)).toBe(ends.length === 0 ? -1 : Math.min(...ends));
      }),
      randomRuns(2_000),
    );
  });
});

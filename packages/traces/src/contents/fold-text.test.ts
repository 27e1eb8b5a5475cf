import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { foldEach, jsonOf, plainOf, text } from "./contents.fixture.js";
import { foldedPieces, foldText } from "./fold-text.js";

/** The pieces without their overlaps. */
function joined(own: string, isJson: boolean, overlap: number): string {
  let whole = "";
  for (const piece of foldedPieces(own, isJson, overlap)) {
    expect(whole.slice(-overlap || whole.length)).toBe(piece.slice(0, Math.min(overlap, whole.length)));
    whole += piece.slice(Math.min(overlap, whole.length));
  }
  return whole;
}

describe("folded texts", () => {
  it.each([
    ["STRASSE", "Straße"],
    ["STRAẞE", "strasse"],
    ["ΣΟΦΟΣ", "σοφος"],
    ["ΣΟΦΟΣ", "σοφοσ"],
    ["İSTANBUL", "i̇stanbul"],
    ["ﬁle", "FILE"],
    ["µ", "Μ"],
    ["𐐀", "𐐨"],
    ["東京", "東京"],
  ])("take %s and %s for the same", (one, other) => {
    expect(foldText(one)).toBe(foldText(other));
  });

  it("are the characters' own, and a part of a text stays one", () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (own, a, b) => {
        expect(foldText(own)).toBe(foldEach(own));
        const letters = [...own];
        const [from, to] = [a % (letters.length + 1), b % (letters.length + 1)].sort((x, y) => x - y);
        expect(foldText(own)).toContain(foldText(letters.slice(from, to).join("")));
      }),
    );
  });

  it("are the same in pieces, wherever these end", () => {
    const long = fc.tuple(fc.integer({ min: 65_500, max: 65_540 }), jsonOf(text), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(
        long,
        fc.constantFrom("x", "\\", "\\u00e9", "é"),
        fc.nat(5),
        ([length, json, times], filling, overlap) => {
          const even = filling === "\\" ? "\\\\" : filling;
          const own = `${even.repeat(length / even.length)}${json.repeat(times)}`.repeat(2);
          expect(joined(own, true, overlap)).toBe(foldEach(plainOf(own)));
          expect(joined(own, false, overlap)).toBe(foldEach(own));
        },
      ),
      { numRuns: 20 },
    );
  });
});

import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { compareTexts } from "./texts.js";

const marked = (left: string, right: string) =>
  compareTexts(left, right).map((pieces) => pieces.map(({ text, isSame }) => (isSame ? text : `<${text}>`)).join(""));

describe("compareTexts", () => {
  it.each([
    ["the same", "the same", "the same", "the same"],
    ["", "new", "", "<new>"],
    [
      '{"amount": 120, "to": "Ada"}',
      '{"amount": 125, "to": "Ada"}',
      '{"amount": <120>, "to": "Ada"}',
      '{"amount": <125>, "to": "Ada"}',
    ],
    ["book two seats now", "book seats then", "book <two >seats <now>", "book seats <then>"],
    ["a 😀 b", "a 😁 b", "a <😀> b", "a <😁> b"],
  ])("marks words of %s and %s", (left, right, ...expected) => {
    expect(marked(left, right)).toEqual(expected);
  });

  it("keeps each text whole, and its same pieces equal on both sides", () => {
    const text = fc.oneof(fc.string({ unit: fc.constantFrom("a", "b ", "1", "😀", '"', "日本") }), fc.string());
    fc.assert(
      fc.property(text, text, (left, right) => {
        const sides = compareTexts(left, right);
        expect(sides.map((pieces) => pieces.map(({ text }) => text).join(""))).toEqual([left, right]);
        const [same, other] = sides.map((pieces) =>
          pieces
            .filter(({ isSame }) => isSame)
            .map((piece) => piece.text)
            .join(""),
        );
        expect(same).toBe(other);
      }),
      randomRuns(300),
    );
  });

  it("divides a long word where it differs", () => {
    const word = "a".repeat(2_000_000);
    const [left, right] = compareTexts(`${word}1${word}`, `${word}2${word}`);
    expect(left.map(({ text, isSame }) => [isSame, text.length])).toEqual([
      [true, 2_000_000],
      [false, 1],
      [true, 2_000_000],
    ]);
    expect(right[1]?.text).toBe("2");
  });

  it("marks a long middle as a whole, in few milliseconds", () => {
    const words = (seed: number) => Array.from({ length: 500_000 }, (_, n) => (n * seed) % 97).join(" ");
    const [left] = compareTexts(`same ${words(7)} end`, `same ${words(11)} end`);
    expect(left.length).toBeLessThan(4);
    expect(left[0]?.isSame).toBe(true);
  });
});

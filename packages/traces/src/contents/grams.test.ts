import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { jsonOf, plainOf, text } from "./contents.fixture.js";
import { foldText } from "./fold-text.js";
import { bitsOfTerms, createFilter } from "./grams.js";

function filterOf(json: string, diskBytes = 1_000_000): Buffer {
  const filter = createFilter();
  for (const _ of filter.add(json, true));
  return filter.bytes(diskBytes);
}

/** As the statement of `findPlaces` reads a filter. */
function hasAll(filter: Buffer, bits: readonly number[]): boolean {
  return bits.every((bit) => {
    const own = bit % (8 * filter.length);
    return (((filter[own >>> 3] ?? 0) >>> (own & 7)) & 1) === 1;
  });
}

describe("filters of grams", () => {
  it("have all grams of each part of a text, whatever their size", () => {
    fc.assert(
      fc.property(jsonOf(text), fc.nat(), fc.nat(), fc.integer({ min: 0, max: 10_000 }), (json, a, b, diskBytes) => {
        const letters = [...plainOf(json)];
        const [from, to] = [a % (letters.length + 1), b % (letters.length + 1)].sort((x, y) => x - y);
        const term = foldText(letters.slice(from, to).join(""));
        expect(hasAll(filterOf(json, diskBytes), bitsOfTerms([term]))).toBe(true);
      }),
    );
  });

  it.each(["Quokka", "東京", "größer", "주문을", "заказ", "b7ad6b7169203331"])("tell %s from other texts", (term) => {
    const bits = bitsOfTerms([foldText(term)]);
    expect(bits.length).toBeGreaterThan(0);
    expect(hasAll(filterOf(JSON.stringify(`a text with ${term} in it`)), bits)).toBe(true);
    expect(hasAll(filterOf(JSON.stringify("a text with something else")), bits)).toBe(false);
  });

  it.each(["", "four", "京", "é"])("say nothing of %j, which is too short", (term) => {
    expect(bitsOfTerms([term])).toEqual([]);
  });

  it("take a part of the disk at most, and a megabyte", () => {
    const json = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => `word ${n * 7919}`));
    expect(filterOf(json, 110_000).length).toBe(5_000);
    expect(filterOf(json, 10 ** 9).length).toBeLessThan(1_048_576);
    expect(filterOf('"a"', 0).length).toBe(8);
  });

  it("look for the grams of all terms within a bound", () => {
    const bits = bitsOfTerms(Array.from({ length: 20 }, (_, n) => `${n}`.repeat(100)));
    expect(bits.length).toBeLessThanOrEqual(64);
    expect(bitsOfTerms(["x".repeat(5), "y".repeat(500)]).length).toBeGreaterThan(4);
  });
});

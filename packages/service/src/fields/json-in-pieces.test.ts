import { describe, expect, it } from "@jest/globals";
import { resultOf } from "@waymark/testing";
import fc from "fast-check";
import { jsonShape } from "./json-members.js";
import { parseInPieces } from "./json-outline.js";

function parse(text: string, bytesPerPiece: number, readersAt?: readonly string[]): unknown {
  const bytes = Buffer.from(text);
  return resultOf(parseInPieces(bytes, resultOf(jsonShape(bytes, { bytesPerPiece })), { bytesPerPiece, readersAt }));
}

/** Calls the readers. */
function finished(value: unknown): unknown {
  if (typeof value === "function") return value();
  if (Array.isArray(value)) return value.map(finished);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, finished(each)]));
}

/** What a parser makes of a text: its value as JSON with the order of members, or nothing. */
function outcomeOf(read: () => unknown): string | undefined {
  try {
    return JSON.stringify(read());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const pieceSizes = fc.integer({ min: 1, max: 40 });
const spaced = fc
  .tuple(fc.json({ maxDepth: 5, stringUnit: "grapheme" }), fc.constantFrom(0, 1, "\t"))
  .map(([text, space]) => ` ${JSON.stringify(JSON.parse(text), null, space)}\n`);

describe("parseInPieces", () => {
  it("gives what JSON.parse gives, whatever the size of a piece", () => {
    fc.assert(
      fc.property(spaced, pieceSizes, (text, size) => {
        expect(outcomeOf(() => parse(text, size))).toBe(outcomeOf(() => JSON.parse(text)));
      }),
      { numRuns: 1_000 },
    );
  });

  const characters = fc.constantFrom(...'[]{},:"\\ 1-e', "null", '"a":', '"', "\u00a0");
  const breaking = (texts: fc.Arbitrary<string>) =>
    fc
      .tuple(texts, fc.nat(), characters, fc.nat(2))
      .map(([text, at, put, cut]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + cut))
      .map((text) => text.toWellFormed());

  it("refuses what JSON.parse refuses", () => {
    const broken = fc.oneof(
      fc.array(characters, { maxLength: 24 }).map((parts) => parts.join("")),
      breaking(spaced),
    );
    fc.assert(
      fc.property(broken, pieceSizes, (text, size) => {
        expect(outcomeOf(() => parse(text, size))).toBe(outcomeOf(() => JSON.parse(text)));
      }),
      { numRuns: 5_000 },
    );
  });

  describe("leaving objects of a list to readers", () => {
    const path = ["a", "b"];
    const member = fc.oneof(fc.record({ n: fc.nat(), list: fc.array(fc.nat()) }), fc.json().map(JSON.parse));
    const listed = fc
      .array(fc.record({ b: fc.array(member, { maxLength: 8 }), c: fc.nat() }), { minLength: 1, maxLength: 4 })
      .map((a) => JSON.stringify({ c: { b: [{}] }, a }, null, 1));

    it("gives and refuses what JSON.parse does, once they are read", () => {
      const read = (text: string, size: number) => outcomeOf(() => finished(parse(text, size, path)));
      fc.assert(
        fc.property(fc.oneof(listed, breaking(listed)), pieceSizes, (text, size) => {
          expect(read(text, size)).toBe(outcomeOf(() => JSON.parse(text)));
        }),
        { numRuns: 5_000 },
      );
    });

    it("leaves those alone that are at the path and short", () => {
      const long = { n: "x".repeat(30) };
      const value = parse(
        JSON.stringify({ a: [{ b: [{ n: 1 }, long, 2, [3], { n: 4 }, { n: 5 }] }], b: [{ n: 6 }, long] }),
        20,
        path,
      );
      const reader = expect.any(Function);
      expect(value).toEqual({ a: [{ b: [reader, long, 2, [3], reader, { n: 5 }] }], b: [{ n: 6 }, long] });
      expect(finished(value)).toMatchObject({ a: [{ b: [{ n: 1 }, long, 2, [3], { n: 4 }, { n: 5 }] }] });
    });
  });

  it("keeps __proto__ as a member, and the last of repeated ones", () => {
    const text = '{"__proto__":{"a":[1,2,3]},"b":1,"b":[[2],[3]],"__proto__":{"c":{"d":1}}}';
    for (let size = 1; size < 40; size++)
      expect(outcomeOf(() => parse(text, size))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it("takes steps of some 64 KiB", () => {
    const text = JSON.stringify(Array.from({ length: 50_000 }, (_, n) => ({ n, list: [n, `${n}`] })));
    const bytes = Buffer.from(text);
    expect([...parseInPieces(bytes, resultOf(jsonShape(bytes)))].length).toBeGreaterThan(text.length / 131_072);
  });
});

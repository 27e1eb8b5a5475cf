import { describe, expect, it } from "@jest/globals";
import { lettersOf } from "../list-traces.query.js";
import { cutBlocks, foldCase, marksOf, marksOfSearch, marksOfText, maxBlockTraces } from "./marks.js";

const labels = (n: number) => ({ environment: n % 2 ? "prod" : null, release: null, tags: [`t${n % 3}`] });
const trace = (name: string, n = 0) => ({ id: String(n), agent_id: `agent ${n % 3}`, name, ...labels(n) });

function hasAll(marks: Buffer, wanted: readonly number[] | undefined): boolean {
  return wanted?.every((mark) => ((marks[mark >>> 3] ?? 0) & (1 << (mark & 7))) !== 0) ?? true;
}

describe("the marks of a block", () => {
  it("take all letters for one that the search of a list takes for the same", () => {
    const different: string[] = [];
    for (let code = 0; code < 0x110000; code++) {
      const letter = String.fromCodePoint(code);
      if (lettersOf(letter).some((other) => foldCase(other) !== foldCase(letter))) different.push(letter);
    }
    expect(different).toEqual([]);
  });

  it.each(["Übergabe an 🙂 Straße 7", "abc", "A long name, longer than a search has marks"])(
    "hold for each part of %s, in either case",
    (name) => {
      const marks = marksOf([trace(name)]);
      const characters = [...name];
      for (let from = 0; from < characters.length; from++) {
        for (let to = from + 1; to <= characters.length; to++) {
          const part = characters.slice(from, to).join("");
          expect(hasAll(marks, marksOfSearch(part))).toBe(true);
          expect(hasAll(marks, marksOfSearch(characters.slice(from, to).map(foldCase).join("")))).toBe(true);
        }
      }
    },
  );

  it("tell names and agents apart", () => {
    const marks = marksOf(Array.from({ length: 200 }, (_, n) => trace(`Answer ticket ${n}`, n)));
    expect(hasAll(marks, marksOfSearch("lawyer"))).toBe(false);
    expect(hasAll(marks, marksOfText("agent_id", "agent 2"))).toBe(true);
    expect(hasAll(marks, marksOfText("agent_id", "another agent"))).toBe(false);
  });

  it("are none for a text of two characters", () => {
    expect(marksOfSearch("ab")).toBeUndefined();
    expect(marksOfSearch("abc")).toHaveLength(8);
  });
});

describe("cutting blocks", () => {
  it("fills each with 256 traces and leaves the rest", () => {
    const traces = Array.from({ length: 2 * maxBlockTraces + 10 }, (_, n) => trace("a run", n));
    expect(cutBlocks(traces).map(({ lastId }) => lastId)).toEqual(["255", "511"]);
  });

  it("ends a block of many different names earlier", () => {
    const name = (n: number) =>
      Array.from({ length: 300 }, (_, at) => String.fromCodePoint(0x4e00 + n * 300 + at)).join("");
    const blocks = cutBlocks(Array.from({ length: 30 }, (_, n) => trace(name(n), n)));
    expect(blocks.length).toBeGreaterThan(1);
    expect(hasAll(blocks[0]?.marks ?? Buffer.alloc(0), marksOfSearch(name(0)))).toBe(true);
  });
});

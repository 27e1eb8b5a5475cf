import { describe, expect, it } from "@jest/globals";
import { joinRecords } from "./lines.js";

async function join(texts: readonly string[], maxLength = 1_000): Promise<object[]> {
  const lines = texts.map((text, index) => ({ number: index + 1, text }));
  const found: object[] = [];
  // One line a time, as the worst input comes.
  async function* input() {
    for (const line of lines) yield [line];
  }
  for await (const records of joinRecords(input(), maxLength)) found.push(...records);
  return found;
}
const problem = expect.any(String);

describe("joinRecords", () => {
  it("leaves records of one line as they are", async () => {
    expect(await join(["a,b", '"1,2",3'])).toEqual([
      { number: 1, text: "a,b" },
      { number: 2, text: '"1,2",3' },
    ]);
  });

  it("joins the lines of a quoted field, and numbers the record by its first", async () => {
    expect(await join(["a,b", '1,"x', "y", 'z"', "2,3"])).toEqual([
      { number: 1, text: "a,b" },
      { number: 2, text: '1,"x\ny\nz"' },
      { number: 5, text: "2,3" },
    ]);
  });

  it("gives up a record with an open quote for the next whole one", async () => {
    expect(await join(["a,b", '1,"x', "2,3", "4,5"])).toEqual([
      { number: 1, text: "a,b" },
      { number: 2, problem },
      { number: 3, text: "2,3" },
      { number: 4, text: "4,5" },
    ]);
  });

  it("gives up a record above the bound, and one that is open at the end", async () => {
    expect(await join(["a,b", '1,"x', ...Array(30).fill("y".repeat(9)), "2,3"], 100)).toEqual([
      { number: 1, text: "a,b" },
      { number: 2, problem },
      ...Array.from({ length: 20 }, (_each, index) => ({ number: index + 13, text: "y".repeat(9) })),
      { number: 33, text: "2,3" },
    ]);
    expect(await join(["a,b", '1,"x'])).toEqual([
      { number: 1, text: "a,b" },
      { number: 2, problem },
    ]);
  });
});

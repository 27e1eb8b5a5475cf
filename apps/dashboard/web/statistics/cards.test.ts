import { describe, expect, it } from "@jest/globals";
import { listNames } from "@waymark/web-stats/lists";
import { cards, firstRows, labelOf, toRows } from "./cards.js";

const row = (value: string, visitors: number) => ({
  value,
  visitors,
  pageviews: undefined,
  isOther: value === "(other)",
});

describe("cards", () => {
  it("have every list once", () => {
    const named = cards.flatMap(({ lists }) => lists.map(({ list }) => list));
    expect([...named].sort()).toEqual([...listNames].sort());
  });

  it("take rows of arrays and of objects by value", () => {
    expect(toRows("topCountries", [{ country: "NL", visitors: 2 }])).toEqual([row("NL", 2)]);
    expect(toRows("channels", { Search: { visitors: 2, pageviews: 3 } })).toEqual([
      { ...row("Search", 2), pageviews: 3 },
    ]);
    expect(toRows("browsers", undefined)).toEqual([]);
  });

  it("show (other) last, within the number of rows", () => {
    const rows = [row("a", 3), row("b", 2), row("c", 1), row("(other)", 9)];
    expect(firstRows(rows, 3).map(({ value }) => value)).toEqual(["a", "b", "(other)"]);
    expect(firstRows(rows.slice(0, 3), 3).map(({ value }) => value)).toEqual(["a", "b", "c"]);
  });

  it("name countries, and leave other values as they are", () => {
    expect(labelOf("topCountries", "NL")).toBe("Netherlands");
    expect(labelOf("topCountries", "ZQ")).toBe("ZQ");
    expect(labelOf("topCountries", "(other)")).toBe("(other)");
    expect(labelOf("topPages", "NL")).toBe("NL");
  });
});

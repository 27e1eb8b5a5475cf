import { describe, expect, it } from "@jest/globals";
import { listNames, lists, otherValue, viewLists } from "./lists.js";

describe("the lists", () => {
  it("keep the dimensions that rows are stored under, each its own", () => {
    const stored = ["page", "source", "country", "channel", "browser", "os", "device", "entry"];
    const dimensions = listNames.map((name) => lists[name].dimension);
    expect(dimensions).toEqual(expect.arrayContaining([...stored, "utm_source", "utm_medium", "utm_campaign"]));
    expect(new Set([...dimensions, "total"]).size).toBe(listNames.length + 1);
    expect(otherValue).toBe("(other)");
  });

  it("count every page view, those of a visit's pages excepted", () => {
    expect(listNames.filter((name) => !viewLists.includes(lists[name]))).toEqual(["entryPages", "exitPages"]);
  });
});

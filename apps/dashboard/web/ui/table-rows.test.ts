import { describe, expect, it } from "@jest/globals";
import { searchRows, sortRows } from "./table-rows.js";

describe("sortRows", () => {
  const by = ({ key }: { key: string | number | null }) => key;
  const keys = (sorted: { key: string | number | null }[]) => sorted.map(({ key }) => key);

  it("puts rows without a value last in both directions", () => {
    const rows = [{ key: 2 }, { key: null }, { key: 10 }, { key: 0 }];
    expect(keys(sortRows(rows, by, false))).toEqual([0, 2, 10, null]);
    expect(keys(sortRows(rows, by, true))).toEqual([10, 2, 0, null]);
  });

  it("sorts numbers within texts by their value, and keeps the order of equal rows", () => {
    const rows = ["agent 10", "Agent 9", "ärger", "agent 10"].map((key, at) => ({ key, at }));
    expect(sortRows(rows, by, false).map(({ at }) => at)).toEqual([1, 0, 3, 2]);
    expect(rows.map(({ at }) => at)).toEqual([0, 1, 2, 3]);
  });
});

describe("searchRows", () => {
  const rows = ["Billing agent", "請求エージェント", "agent of billing 2", "وكيل"];
  const find = (text: string) => searchRows(rows, text, (row) => row);

  it("finds each word in any order, letter case and script", () => {
    expect(find(" AGENT bill ")).toEqual([rows[0], rows[2]]);
    expect(find("エージェント")).toEqual([rows[1]]);
    expect(find("وكيل")).toEqual([rows[3]]);
    expect(find("nobody")).toEqual([]);
    expect(find("  ")).toBe(rows);
  });
});

import { describe, expect, it } from "@jest/globals";
import { partsFor, readColumns, writeColumns } from "./columns.js";
import { usualColumns } from "./traces-table.js";

describe("columns", () => {
  it("come back from an address in the table's order, each once, unknown ones left out", () => {
    expect(readColumns("cost,agent,cost,nowhere,toString")).toEqual(["agent", "cost"]);
    expect(readColumns(writeColumns([]))).toEqual([]);
    expect(readColumns(writeColumns(usualColumns))).toEqual(usualColumns);
  });

  it("ask for further parts only where they need them", () => {
    expect(partsFor(usualColumns)).toBe("");
    expect(partsFor(["user", "score"])).toBe("labels,usage,preview,scores");
    expect(partsFor(["model", "score"])).toBe("labels,usage,preview,models,scores");
  });
});

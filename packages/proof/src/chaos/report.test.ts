import { describe, expect, it } from "@jest/globals";
import { formatReport, problemsOf, type Row } from "./report.js";

const row: Row = {
  fault: "none",
  requests: 10,
  acknowledged: 9,
  refused: 1,
  broken: 0,
  hung: 0,
  wrong: {},
  lost: [],
  doubled: [],
  recoveryMs: 1_234,
  quietP99Ms: 7,
  memoryMb: 100,
};

describe("a row", () => {
  it("passes with refusals", () => {
    expect(problemsOf(row)).toEqual([]);
    expect(formatReport({ rows: [row], skipped: [], messages: [] })).toContain(
      "none         10             9        1       0     0        0         1.2       7  100\n",
    );
  });

  it.each<[Partial<Row>, string]>([
    [{ lost: ["trace 1"] }, "trace 1"],
    [{ doubled: ["trace 2"] }, "trace 2"],
    [{ wrong: { "500 POST /": 3 } }, "3 answers 500 POST /"],
    [{ hung: 1 }, "1 requests had no answer within 30 s"],
    [{ recoveryMs: undefined }, "a service did not recover within a minute"],
    [{ memoryMb: 600 }, "a process took 600 MB"],
  ])("fails with %j", (change, problem) => {
    expect(problemsOf({ ...row, ...change })).toEqual([problem]);
    expect(formatReport({ rows: [{ ...row, ...change }], skipped: [], messages: [] })).toContain(`none: ${problem}`);
  });
});

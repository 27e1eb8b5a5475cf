import { describe, expect, it } from "@jest/globals";
import { parseOptions } from "./program-options.js";

const options = {
  minutes: { takes: "NUMBER", default: 30, what: "how long" },
  only: { takes: ["one", "other"], what: "one part" },
  fault: { takes: "TEXT", isMany: true, what: "faults" },
  save: { what: "keeps the report" },
} as const;

describe("the options of a program", () => {
  it("have their defaults without arguments", () => {
    expect(parseOptions([], options)).toEqual({ minutes: 30, only: undefined, fault: [], save: false });
  });

  it("are numbers, words, texts and flags", () => {
    const args = ["--", "--minutes", "0.5", "--only", "other", "--fault", "a", "--fault", "b", "--save"];
    expect(parseOptions(args, options)).toEqual({ minutes: 0.5, only: "other", fault: ["a", "b"], save: true });
  });

  it("are none where the help is asked for", () => {
    expect(parseOptions(["--minutes", "x", "--help"], options)).toBeUndefined();
  });

  it.each([
    [["--minutes", "0"], "--minutes takes a number above 0."],
    [["--only", "none"], "--only takes one of: one, other."],
    [["--other"], "Unknown option '--other'"],
  ])("refuse %j", (args, message) => {
    expect(() => parseOptions(args, options)).toThrow(message);
  });
});

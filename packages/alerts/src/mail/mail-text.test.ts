import { describe, expect, it } from "@jest/globals";
import { formatDuration } from "./mail-text.js";

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_000, "1 s"],
    [1_250, "1.3 s"],
    [59_900, "59.9 s"],
    [60_000, "1 min 0 s"],
    [3_599_000, "59 min 59 s"],
    [3_600_000, "1 h 0 min"],
    [90_000_000, "1 d 1 h"],
    [-5, "not known: it ended before it started"],
  ])("writes %i ms as %s", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});

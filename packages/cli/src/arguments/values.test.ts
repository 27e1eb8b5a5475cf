import { describe, expect, it } from "@jest/globals";
import { InvalidArgumentError } from "commander";
import { dayOf, parseLaterTime, parseTime } from "./values.js";

const now = new Date("2026-06-01T12:00:00.500Z");

describe("a time on the command line", () => {
  it.each([
    ["45s", "2026-06-01T11:59:15.500Z"],
    ["30m", "2026-06-01T11:30:00.500Z"],
    ["2h", "2026-06-01T10:00:00.500Z"],
    ["7d", "2026-05-25T12:00:00.500Z"],
    ["2w", "2026-05-18T12:00:00.500Z"],
    ["0s", "2026-06-01T12:00:00.500Z"],
    ["2026-05-01", "2026-05-01T00:00:00.000000Z"],
    ["2026-05-01T12:00:00Z", "2026-05-01T12:00:00.000000Z"],
    ["2026-05-01T12:00:00.000500+02:00", "2026-05-01T10:00:00.000500Z"],
  ])("may be %s", (text, time) => {
    expect(parseTime(text)(now)).toBe(time);
  });

  it.each([
    "",
    "yesterday",
    "2",
    "h",
    "-2h",
    "2 h",
    "1.5h",
    "2y",
    "123456d",
    "2026-02-30",
    "2026-05-01T12:00:00",
    "2026",
  ])("is not %j, and the error names the forms", (text) => {
    expect(() => parseTime(text)).toThrow(InvalidArgumentError);
    expect(() => parseTime(text)).toThrow(/30m, 2h, 7d or 2w ago, a UTC day such as .*, or ISO 8601/);
  });

  it.each([
    ["30d", "2026-07-01T12:00:00.500Z"],
    ["45s", "2026-06-01T12:00:45.500Z"],
    ["2026-05-01", "2026-05-01T00:00:00.000000Z"],
  ])("may be to come: %s", (text, time) => {
    expect(parseLaterTime(text)(now)).toBe(time);
    expect(() => parseLaterTime(`${text}x`)).toThrow(/2w from now, a UTC day such as/);
  });

  it("is in a UTC day", () => {
    expect(dayOf(parseTime("13h")(now))).toBe("2026-05-31");
  });
});

import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseTimestamp, timestampField } from "./timestamp.js";

const value = (text: string) => {
  const result = parseTimestamp(text);
  return result.ok ? result.value : `refused: ${result.problem}`;
};

describe("parseTimestamp", () => {
  it.each([
    ["2026-06-01T00:00:00Z", "2026-06-01T00:00:00.000000Z"],
    ["2026-06-01T00:00Z", "2026-06-01T00:00:00.000000Z"],
    ["2025-08-15T17:55:57.114984+00:00", "2025-08-15T17:55:57.114984Z"],
    ["2026-01-01T01:00:00+02:00", "2025-12-31T23:00:00.000000Z"],
    ["2026-01-01T01:00:00-0230", "2026-01-01T03:30:00.000000Z"],
    ["2026-01-01T01:00:00+02", "2025-12-31T23:00:00.000000Z"],
    ["2024-02-29T12:00:00.1Z", "2024-02-29T12:00:00.100000Z"],
    ["2026-01-01T00:00:00.999999999Z", "2026-01-01T00:00:00.999999Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"],
    ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"],
    ["0099-03-01t00:00:00z", "0099-03-01T00:00:00.000000Z"],
  ])("reads %s", (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  it.each([
    "",
    "yesterday",
    "2026-01-01",
    "2026-01-01T00:00:00",
    "2026-01-01 00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:59:60Z",
    "2026-01-01T00:00:00+24:00",
    "0000-01-01T00:00:00Z",
    "0000-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "+002026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z\n",
    "1767225600000",
  ])("refuses %j with a sentence", (text) => {
    expect(value(text)).toMatch(/^refused: Must /);
  });

  it("checks each time of a day that it knows", () => {
    expect(value("2026-06-01T12:00:00.000Z")).toBe("2026-06-01T12:00:00.000000Z");
    expect(value("2026-06-01T12:00:00.123Z")).toBe("2026-06-01T12:00:00.123000Z");
    for (const time of ["24:00:00.000Z", "12:60:00.000Z", "12:00:60.000Z", "1:00:00.0000Z", "12:00:00.000"]) {
      expect(value(`2026-06-01T${time}`)).toMatch(/^refused: Must /);
    }
  });

  it("agrees with Date on every instant that Date can write", () => {
    const range = { min: new Date("0001-01-02T00:00:00Z"), max: new Date("9999-12-30T00:00:00Z"), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), fc.integer({ min: -1439, max: 1439 }), (date, offset) => {
        const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, "0");
        const minutes = String(Math.abs(offset) % 60).padStart(2, "0");
        const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, 23);
        const text = `${local}${offset < 0 ? "-" : "+"}${hours}:${minutes}`;
        expect(value(text)).toBe(date.toISOString().replace("Z", "000Z"));
      }),
    );
  });
});

describe("timestampField", () => {
  it("reports the sentence as the field's issue", () => {
    const result = timestampField().safeParse("soon");
    expect(result.error?.issues[0]?.message).toMatch(/^Must be an ISO 8601 timestamp/);
  });
});

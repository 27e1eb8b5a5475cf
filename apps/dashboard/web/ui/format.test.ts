import { beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { addDays } from "./day-range.js";
import {
  changeOf,
  dayOf,
  formatAgo,
  formatBytes,
  formatCount,
  formatDay,
  formatDuration,
  formatMoment,
  formatMonth,
  formatRevenue,
  formatShare,
  formatShortDay,
  formatThings,
  formatUtc,
  startOfDay,
} from "./format.js";
import { zone } from "./preferences.js";

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, " ");

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [0.4, "<1 ms"],
    [43, "43 ms"],
    [999.4, "999 ms"],
    [999.5, "1.00 s"],
    [2110, "2.11 s"],
    [9994, "9.99 s"],
    [9995, "10.0 s"],
    [42_700, "42.7 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min"],
    [290_000, "4 min 50 s"],
    [3_599_499, "59 min 59 s"],
    [3_599_500, "1 h"],
    [5_340_000, "1 h 29 min"],
    [86_369_999, "23 h 59 min"],
    [86_370_000, "1 d"],
    [183_600_000, "2 d 3 h"],
    [-1500, "-1.50 s"],
  ])("%d ms is %s", (ms, text) => {
    expect(plain(formatDuration(ms))).toBe(text);
  });

  it("never shows 60 of a unit", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (ms) => {
        expect(plain(formatDuration(ms))).not.toMatch(/\b60(\.0)? (s|min)|\b1000 ms|\b24 h/);
      }),
    );
  });
});

describe("changeOf", () => {
  it("is a share of what was, and none against nothing", () => {
    expect(changeOf(3, 2)).toBe(0.5);
    expect(changeOf(0, 2)).toBe(-1);
    expect(changeOf(3, 0)).toBeUndefined();
  });
});

describe("formatRevenue", () => {
  it("keeps each digit of the sums", () => {
    const sums = [
      { currency: "EUR", amount: "1000000000000000000.299999" },
      { currency: "JPY", amount: "-1234.5" },
    ];
    expect(plain(formatRevenue(sums))).toBe("1 000 000 000 000 000 000.299999 EUR, -1 234.5 JPY");
    expect(formatRevenue([])).toBe("");
  });
});

describe("formatCount", () => {
  it("groups by thin spaces and keeps each digit", () => {
    expect(formatCount(1_234_567)).toBe("1\u202f234\u202f567");
    expect(formatCount(1.75)).toBe("1.75");
    fc.assert(
      fc.property(fc.nat(), (count) => {
        expect(formatCount(count).replaceAll("\u202f", "")).toBe(String(count));
      }),
    );
  });

  it("names things in singular and plural", () => {
    expect(formatThings(1, "trace")).toBe("1 trace");
    expect(formatThings(0, "trace")).toBe("0 traces");
    expect(formatThings(2, "reply", "replies")).toBe("2 replies");
  });
});

describe("formatShare", () => {
  it.each([
    [0, "0 %"],
    [0.004, "<1 %"],
    [0.126, "13 %"],
    [1, "100 %"],
  ])("%d is %s", (share, text) => {
    expect(plain(formatShare(share))).toBe(text);
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1 KB"],
    [8_600_000, "8.6 MB"],
    [999_600, "1 MB"],
    [170_400, "170 KB"],
  ])("%d is %s", (bytes, text) => {
    expect(plain(formatBytes(bytes))).toBe(text);
  });
});

describe("times", () => {
  beforeEach(() => {
    zone.value = "UTC";
  });
  const now = new Date("2026-11-15T12:00:00Z");

  it.each([
    ["2026-11-15T12:00:05Z", "just now"],
    ["2026-11-15T11:59:20Z", "just now"],
    ["2026-11-15T11:59:00Z", "1 min ago"],
    ["2026-11-15T11:10:00Z", "50 min ago"],
    ["2026-11-15T11:00:00Z", "1 h ago"],
    ["2026-11-14T12:00:00Z", "1 d ago"],
    ["2026-11-01T12:00:00Z", "1 Nov 2026"],
  ])("%s is %s", (iso, text) => {
    expect(plain(formatAgo(iso, now))).toBe(text);
  });

  it("are UTC", () => {
    expect(formatUtc("2026-11-15T03:30:44.123+02:00")).toBe("2026-11-15 01:30:44 UTC");
    expect(plain(formatDay("2026-11-15"))).toBe("15 Nov 2026");
    expect(formatMonth(Date.parse("2026-12-01T00:00:00Z") - 1)).toBe("November");
    expect(plain(formatShortDay("2026-11-15T23:59:59Z"))).toBe("15 Nov");
    expect(formatMoment("2026-11-15T03:30:44.123+02:00")).toBe("2026-11-15 01:30:44 UTC");
    expect(dayOf("2026-11-15T01:00:00+02:00")).toBe("2026-11-14");
  });

  it.each([
    ["Asia/Kathmandu", "2026-11-15 07:15:44 UTC+5:45"],
    ["America/St_Johns", "2026-11-14 22:00:44 UTC−3:30"],
    ["Europe/London", "2026-11-15 01:30:44 UTC"],
  ])("in %s are %s", (name, text) => {
    zone.value = name;
    expect(formatMoment("2026-11-15T01:30:44Z")).toBe(text);
  });

  it.each([
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z", "a midnight that summer time skips"],
    ["America/Havana", "2026-11-01", "2026-11-01T04:00:00.000Z", "the first of two midnights"],
    ["Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000Z", "a day after one that the calendar skipped"],
    ["Asia/Tokyo", "2026-06-10", "2026-06-09T15:00:00.000Z", "any day"],
  ])("in %s begin %s at %s: %s", (name, day, start) => {
    zone.value = name;
    expect(startOfDay(day).toISOString()).toBe(start);
    expect(dayOf(start)).toBe(day);
    expect(dayOf(new Date(Date.parse(start) - 1)) < day).toBe(true);
  });

  it("are on the day that begins before them, and ends after them", () => {
    const time = fc.date({ min: new Date("1971-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(time, fc.constantFrom("browser", "UTC", ...Intl.supportedValuesOf("timeZone")), (moment, inZone) => {
        zone.value = inZone;
        const day = dayOf(moment);
        expect(startOfDay(day).getTime()).toBeLessThanOrEqual(moment.getTime());
        expect(startOfDay(addDays(day, 1)).getTime()).toBeGreaterThan(moment.getTime());
      }),
    );
  });
});

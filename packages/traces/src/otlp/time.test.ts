import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { spanUuid } from "./map-request.js";
import { timeOfNanos } from "./time.js";

describe("times of nanoseconds", () => {
  it("cut off what is below a microsecond, for all of today's and tomorrow's times", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n }), (nanos) => {
        const half = { low: Number(nanos & 0xffffffffn), high: Number(nanos >> 32n) };
        const micros = nanos / 1000n;
        const expected = `${new Date(Number(micros / 1000n)).toISOString().slice(0, 23)}${String(micros % 1000n).padStart(3, "0")}Z`;
        expect(timeOfNanos(half)).toBe(expected);
        expect(timeOfNanos({ ...half, low: half.low | 0 })).toBe(expected);
      }),
    );
  });

  it("end in the year 2554, also where halves have a sign, as protobufjs gives them", () => {
    const end = /^2554-07-21T23:34:33\.709/;
    expect(timeOfNanos({ low: 0xffffffff, high: 0xffffffff })).toMatch(end);
    expect(timeOfNanos({ low: -1, high: -1 })).toMatch(end);
  });
});

describe("ids of spans", () => {
  it("are UUIDs version 8 from which both ids can be read, and differ where the span's does", () => {
    const hex = fc
      .array(fc.integer({ min: 0, max: 15 }), { minLength: 16, maxLength: 16 })
      .map((digits) => digits.map((digit) => digit.toString(16)).join(""));
    fc.assert(
      fc.property(hex, (spanId) => {
        const id = spanUuid("019c13f2-6c00-7cc3-98c4-dc0c0c07398f", spanId);
        expect(id).toMatch(/^019c13f2-6c00-8[0-9a-f]{3}-800[0-9a-f]-[0-9a-f]{12}$/);
        expect(id.slice(15, 18) + id.slice(22, 23) + id.slice(24)).toBe(spanId);
      }),
    );
  });
});

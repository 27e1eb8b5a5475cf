import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { utcMonth } from "./plans.js";

describe("utcMonth", () => {
  it("ends with the last millisecond of the month, in UTC", () => {
    expect(utcMonth(new Date("2026-01-31T23:59:59.999Z"))).toEqual({
      label: "2026-01",
      firstDay: "2026-01-01",
      secondsLeft: 1,
      endsAt: "2026-02-01T00:00:00.000Z",
    });
    expect(utcMonth(new Date("2026-02-01T00:00:00.000Z")).label).toBe("2026-02");
  });

  it("rolls over the year and knows leap days", () => {
    expect(utcMonth(new Date("2027-12-31T23:59:59Z"))).toMatchObject({
      secondsLeft: 1,
      endsAt: "2028-01-01T00:00:00.000Z",
    });
    expect(utcMonth(new Date("2028-02-28T00:00:00Z")).secondsLeft).toBe(2 * 86_400);
  });

  it("gives the seconds that lead exactly into the next month", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("1970-01-01"), max: new Date("2200-01-01"), noInvalidDate: true }),
        (moment) => {
          const month = utcMonth(moment);
          const next = utcMonth(new Date(moment.getTime() + month.secondsLeft * 1000));
          const before = utcMonth(new Date(moment.getTime() + (month.secondsLeft - 1) * 1000));
          expect(next.label).not.toBe(month.label);
          expect(before.label).toBe(month.label);
        },
      ),
    );
  });
});

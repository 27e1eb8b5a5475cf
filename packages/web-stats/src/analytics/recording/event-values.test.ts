import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readRevenue } from "./site-event.js";

const amountOf = (amount: string) => {
  const result = readRevenue(`{"amount": ${amount}, "currency": "EUR"}`);
  return "problem" in result ? result.path.join() : result.revenue?.amount;
};

describe("revenue", () => {
  it.each([
    ["0.10", "0.1"],
    ["1e2", "100"],
    ["1.5E-3", "0.0015"],
    ["12e-1", "1.2"],
    ["-12.500000", "-12.5"],
    ['"12.30"', "12.3"],
    ["-0.0", "0"],
    ["0e10", "0"],
    ["123456789012345678.123456", "123456789012345678.123456"],
    ['"0000000000000000000001"', "1"],
  ])("reads the amount %s from its text", (written, amount) => {
    expect(amountOf(written)).toBe(amount);
  });

  it.each([
    "1234567890123456789",
    "1e18",
    "0.1234567",
    "1e-7",
    "1e999",
    '""',
    '"1,5"',
    '" 1"',
    '"NaN"',
    "true",
    "null",
    "[1]",
  ])("refuses the amount %s", (written) => {
    expect(amountOf(written)).toBe("amount");
  });

  it.each(['"eur"', '"EURO"', '"€"', "1", "null"])("refuses the currency %s", (currency) => {
    expect(readRevenue(`{"amount":1,"currency":${currency}}`)).toMatchObject({ path: ["currency"] });
  });

  it("is an object, also as text, and none where it has neither member", () => {
    expect(readRevenue('"{\\"amount\\": 1.10, \\"currency\\": \\"USD\\"}"')).toEqual({
      revenue: { amount: "1.1", currency: "USD" },
    });
    for (const none of ["null", "{}", '{"other":1}']) expect(readRevenue(none)).toEqual({ revenue: null });
    for (const wrong of ["1", "[]", '"x"', '"{"', '"[]"', "true"])
      expect(readRevenue(wrong)).toMatchObject({ path: [] });
    expect(readRevenue('{"amount":1}')).toMatchObject({ path: ["currency"] });
    expect(readRevenue('{"currency":"EUR"}')).toMatchObject({ path: ["amount"] });
  });

  it("equals its text, whatever the exponent", () => {
    const digits = fc.integer({ min: -999_999_999, max: 999_999_999 });
    fc.assert(
      fc.property(digits, fc.integer({ min: -6, max: 9 }), (mantissa, exponent) => {
        const scaled = BigInt(mantissa) * 10n ** BigInt(exponent + 6);
        const amount = amountOf(`${mantissa}e${exponent}`) ?? "";
        const [whole = "", fraction = ""] = amount.replace("-", "").split(".");
        const read = BigInt(whole + fraction.padEnd(6, "0"));
        expect(amount.startsWith("-") ? -read : read).toBe(scaled);
      }),
    );
  });
});

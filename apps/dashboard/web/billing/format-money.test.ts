import { expect, it } from "@jest/globals";
import { formatMoney } from "./format-money.js";

it.each([
  [2_900, "USD", "$29.00"],
  [5, "EUR", "€0.05"],
  [-2_900, "USD", "-$29.00"],
  [4_200, "JPY", "¥4,200"],
  [1_234, "KWD", "KWD 1.234"],
  [250_000, "ISK", "ISK 2,500"],
])("%i of %s", (amount, currency, text) => {
  expect(formatMoney(amount, currency).replace("\u00a0", " ")).toBe(text);
});

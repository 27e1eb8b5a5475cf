import { jsonMembers } from "@waymark/service/fields";
import type { Revenue } from "./site-event.js";

const maxWholeDigits = 18;
const maxFractionDigits = 6;

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

export type RevenueResult = { revenue: Revenue | null } | { problem: string; path: string[] };

/**
 * Reads the revenue of a custom event: `{"amount": 12.5, "currency": "EUR"}`, with the amount as number or text. It is exact, as
 * it never becomes a floating-point number.
 * @param json a valid JSON value; Plausible's older clients send the object as JSON in a text, and tagged elements without
 *   revenue an empty object
 */
export function readRevenue(json: string): RevenueResult {
  const value: unknown = JSON.parse(json);
  if (value === null) return { revenue: null };
  if (typeof value === "string") return isObjectText(value) ? readRevenue(value) : noObject;
  if (typeof value !== "object" || Array.isArray(value)) return noObject;
  const { amount, currency } = value as Record<string, unknown>;
  if (amount === undefined && currency === undefined) return { revenue: null };
  const written = typeof amount === "number" ? jsonMembers(json, ["amount"]).get("amount") : amount;
  const read = typeof written === "string" ? readDecimal(written) : undefined;
  if (read === undefined) {
    const digits = `${maxWholeDigits} digits before and ${maxFractionDigits} after the point`;
    return { problem: `Must be a number of at most ${digits}, or its text`, path: ["amount"] };
  }
  if (typeof currency === "string" && /^[A-Z]{3}$/.test(currency)) return { revenue: { amount: read, currency } };
  return { problem: "Must be a code of three capital letters (ISO 4217)", path: ["currency"] };
}

const noObject: RevenueResult = { problem: "Must be an object with amount and currency", path: [] };

function isObjectText(text: string): boolean {
  try {
    return text.trimStart().startsWith("{") && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** @returns the decimal without an exponent and without zeros at its ends; undefined for other text or too many digits */
function readDecimal(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = decimal.exec(text) ?? [];
  if (whole === "") return undefined;
  const point = whole.length + Number(exponent);
  const digits = `${"0".repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, "0");
  const [before, after] = [digits.slice(0, Math.max(0, point)).replace(/^0+/, ""), digits.slice(Math.max(0, point))];
  if (before.length > maxWholeDigits || after.length > maxFractionDigits) return undefined;
  const rest = after.replace(/0+$/, "");
  const size = `${before || "0"}${rest === "" ? "" : `.${rest}`}`;
  return size === "0" ? size : sign + size;
}

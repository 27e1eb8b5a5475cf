/** Places of a sender's decimal number; the rest is below all money. */
const maxPlaces = 30;
const maxDigits = 9;

const pattern = /^(\d{1,40})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,3}))?$/i;

/**
 * Writes a decimal number that is not negative, also one with an exponent, without exponent; digits beyond 30 places are cut.
 * @returns undefined for other texts and for a billion and more
 */
export function plainDecimal(text: string): string | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, whole = "", places = "", exponent = "0"] = match;
  const shift = Number(exponent);
  const digits = whole + places;
  const point = whole.length + shift;
  const padded = point > 0 ? digits.padEnd(point, "0") : "0".repeat(1 - point) + digits;
  const at = Math.max(point, 1);
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  if (integer.length > maxDigits) return undefined;
  const rest = padded.slice(at, at + maxPlaces).replace(/0+$/, "");
  return rest === "" ? integer : `${integer}.${rest}`;
}

/** The exact sum of plain decimals; undefined for none. */
export function addDecimals(numbers: readonly string[]): string | undefined {
  if (numbers.length === 0) return undefined;
  const sum = numbers.reduce((total, number) => total + scaled(number), 0n);
  const digits = sum.toString().padStart(maxPlaces + 1, "0");
  return plainDecimal(`${digits.slice(0, -maxPlaces)}.${digits.slice(-maxPlaces)}`);
}

function scaled(number: string): bigint {
  const [whole = "", places = ""] = number.split(".");
  return BigInt(whole + places.padEnd(maxPlaces, "0"));
}

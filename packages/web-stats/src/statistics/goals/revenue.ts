/** An amount of a currency. The amount is a decimal as text, since floats are not exact. */
export interface Revenue {
  currency: string;
  amount: string;
}

/** Millionths by currency. */
export type RevenueSums = Map<string, bigint>;

const decimals = 6;

/** @param text as a part has it: `EUR -12.5`; empty for none */
export function readRevenue(text: string): [currency: string, millionths: bigint] | undefined {
  const [, currency, sign, whole, fraction = ""] = /^([A-Z]{3}) (-?)(\d+)(?:\.(\d{1,6})0*)?$/.exec(text) ?? [];
  if (currency === undefined) return undefined;
  const millionths = BigInt(`${whole}${fraction.padEnd(decimals, "0")}`);
  return [currency, sign === "-" ? -millionths : millionths];
}

export function addRevenue(sums: RevenueSums, [currency, millionths]: readonly [string, bigint]): void {
  sums.set(currency, (sums.get(currency) ?? 0n) + millionths);
}

/** By currency in order, without trailing zeros. */
export function toRevenue(sums: RevenueSums): Revenue[] {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, millionths]) => ({ currency, amount: toDecimal(millionths) }));
}

function toDecimal(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -decimals)}${fraction && `.${fraction}`}`;
}

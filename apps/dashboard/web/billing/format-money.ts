/** Stripe counts these in hundredths, although they have no smaller unit (Stripe's documentation, "Currencies"). */
const countedInHundredths: ReadonlySet<string> = new Set(["ISK", "UGX"]);

/** An amount in a currency's smallest unit as text: `$29.00`. */
export function formatMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  const digits = countedInHundredths.has(currency) ? 2 : (format.resolvedOptions().maximumFractionDigits ?? 2);
  return format.format(amount / 10 ** digits);
}

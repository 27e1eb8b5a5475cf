const large = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const small = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

/** An amount for the eye: cents, below a dollar three digits. Sums stay decimal texts of the server. */
export function formatDollars(dollars: number): string {
  return (Math.abs(dollars) < 1 && dollars !== 0 ? small : large).format(dollars);
}

/** An amount in few signs, for an axis: `$1.2K`, `$15`, `25¢`, `0.35¢`. */
export function formatTick(dollars: number): string {
  return dollars === 0 || dollars >= 1 ? `$${formatCompact(dollars)}` : `${Number((dollars * 100).toPrecision(3))}¢`;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `1.2M` */
export function formatCompact(count: number): string {
  return compact.format(count);
}

import { formatCompact, formatCount, formatDollars } from "./format.js";

/** A link whose text is an id or an error, as it was sent. */
export function MonoLink({ href, text }: { href: string; text: string }) {
  return (
    <a class="mono" href={href}>
      {text}
    </a>
  );
}

interface TokenCounts {
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
}

/** Input and output tokens together, each on hover; nothing without any. */
export function Tokens({ of: { input_tokens: input = 0, output_tokens: output = 0 } }: { of: TokenCounts }) {
  if (input + output === 0) return null;
  return <span title={`${formatCount(input)} in, ${formatCount(output)} out`}>{formatCompact(input + output)}</span>;
}

/** An amount below it has more digits than an eye reads, or a column has room for. */
const leastDollars = 0.0001;

/** Dollars, exact on hover; nothing without a price. */
export function Cost({ usd }: { usd: string | null | undefined }) {
  if (!usd) return null;
  const dollars = Number(usd);
  const isTiny = dollars > 0 && dollars < leastDollars;
  return <span title={`$${usd}`}>{isTiny ? `<$${leastDollars}` : formatDollars(dollars)}</span>;
}

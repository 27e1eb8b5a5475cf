import { formatCompact, formatCount, formatDollars } from "./format.js";

interface TokenCounts {
  input_tokens?: number | undefined;
  output_tokens?: number | undefined;
}

/** Input and output tokens together, each on hover; nothing without any. */
export function Tokens({ of: { input_tokens: input = 0, output_tokens: output = 0 } }: { of: TokenCounts }) {
  if (input + output === 0) return null;
  return <span title={`${formatCount(input)} in, ${formatCount(output)} out`}>{formatCompact(input + output)}</span>;
}

/** Dollars, exact on hover; nothing without a price. */
export function Cost({ usd }: { usd: string | null | undefined }) {
  return usd ? <span title={`$${usd}`}>{formatDollars(Number(usd))}</span> : null;
}

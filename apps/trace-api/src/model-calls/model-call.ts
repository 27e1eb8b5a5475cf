import { type Columns, columnArrays, unnestSql } from "@waymark/traces";
import type { ModelUsage, Tokens } from "@waymark/traces/otlp";
import { loadPrices, type PriceCall, roundCost } from "./prices.js";

/** A model call to store. Without tokens and cost it takes back what its span reported before. */
export interface ModelCall {
  provider: string;
  model: string;
  tokens: Tokens | null;
  /** Dollars, a decimal number. */
  cost: string | null;
  /** Whether the sender told the cost of a call with tokens; null otherwise. */
  isTold: true | null;
}

/** A promise until the price list is there. @param startedAt of the span: prices change */
export type PriceUsage = (usage: ModelUsage, startedAt: string) => ModelCall | Promise<ModelCall>;

/** Makes the function that fixes a call's cost: the sender's, else by the price list, which it loads once. */
export function createUsagePricer(): PriceUsage {
  let price: PriceCall | undefined;
  let loading: Promise<PriceCall> | undefined;
  const load = async () => {
    price = await loadPrices();
    return price;
  };
  return (usage, startedAt) => {
    if (price) return priced(price, usage, startedAt);
    loading ??= load();
    return loading.then((loaded) => priced(loaded, usage, startedAt));
  };
}

function priced(price: PriceCall, { provider, model, tokens, cost }: ModelUsage, startedAt: string): ModelCall {
  if (cost === null) {
    const found = price({ provider, model, tokens, startedAt });
    return { provider: found.provider, model, tokens, cost: found.cost, isTold: null };
  }
  // For the list's name of the provider.
  const named = price({ provider, model, tokens: null, startedAt });
  return { provider: named.provider, model, tokens, cost: roundCost(cost), isTold: tokens && true };
}

export interface CallOfSpan {
  /** The number of its request, from 1. */
  request: number;
  spanId: string;
  startedAt: string;
  call: ModelCall;
}

const columns: Columns<CallOfSpan> = {
  position: { type: "int", of: ({ request }) => request },
  span_id: { type: "uuid", of: ({ spanId }) => spanId },
  started_at: { type: "timestamptz", of: ({ startedAt }) => startedAt },
  provider: { type: "text", of: ({ call }) => call.provider },
  model: { type: "text", of: ({ call }) => call.model },
  input_tokens: { type: "bigint", of: ({ call }) => call.tokens?.input },
  output_tokens: { type: "bigint", of: ({ call }) => call.tokens?.output },
  cached_input_tokens: { type: "bigint", of: ({ call }) => call.tokens?.cachedInput },
  cache_write_tokens: { type: "bigint", of: ({ call }) => call.tokens?.cacheWrite },
  reasoning_tokens: { type: "bigint", of: ({ call }) => call.tokens?.reasoning },
  cost: { type: "numeric", of: ({ call }) => call.cost },
  is_told: { type: "boolean", of: ({ call }) => call.isTold },
};
const names = Object.keys(columns).slice(1).join(", ");

/**
 * Inserts the calls of the parameters from `$first` on. Settling finds them by `model_call_unsettled_idx`.
 * @param source a table expression with account, trace and `position`, the number of a call's request
 * @param condition on a call `r` and its request
 */
export function insertCallsSql(first: number, source: string, condition = "true"): string {
  return `
    INSERT INTO model_call (account_id, trace_id, ${names})
    SELECT account_id, trace_id, ${names} FROM ${unnestSql(first, columns)}
    JOIN ${source} USING (position) WHERE ${condition}`;
}

/** The parameters of {@link insertCallsSql}. */
export function callValues(calls: readonly CallOfSpan[]): unknown[] {
  return columnArrays(calls, columns);
}

/** Notes for settling that the spans or the agent of the traces in `source`, with model calls, have changed. */
export function noteChangeSql(source: string, traceId: string, condition = "true"): string {
  return `
    INSERT INTO model_call (account_id, trace_id, span_id, started_at)
    SELECT account_id, ${traceId}, ${traceId}, now() FROM ${source}
    WHERE ${condition} AND EXISTS (
      SELECT FROM model_call m WHERE m.account_id = ${source}.account_id AND m.trace_id = ${source}.${traceId}
    )`;
}

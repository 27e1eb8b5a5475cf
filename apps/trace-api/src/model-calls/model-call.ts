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

/** @param startedAt of the span: prices change */
export type PriceUsage = (usage: ModelUsage, startedAt: string) => Promise<ModelCall>;

/** Makes the function that fixes a call's cost: the sender's, else by the price list, which it loads once. */
export function createUsagePricer(): PriceUsage {
  let loading: Promise<PriceCall> | undefined;
  return async ({ provider, model, tokens, cost }, startedAt) => {
    const told = { provider, model, tokens, isTold: tokens && cost !== null ? (true as const) : null };
    if (cost !== null) return { ...told, cost: roundCost(cost) };
    if (tokens === null) return { ...told, cost };
    loading ??= loadPrices();
    const price = await loading;
    return { ...told, cost: price({ provider, model, tokens, startedAt }) };
  };
}

const columns =
  "span_id, started_at, provider, model, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost, is_told";
const types = [
  "int",
  "uuid",
  "timestamptz",
  "text",
  "text",
  "bigint",
  "bigint",
  "bigint",
  "bigint",
  "bigint",
  "numeric",
  "boolean",
];

/**
 * Inserts the calls of the parameters from `$first` on. Settling finds them by `model_call_unsettled_idx`.
 * @param source a table expression with account, trace and, as `key`, the number of a call's request
 * @param condition on a call `c` and its request
 */
export function insertCallsSql(first: number, source: string, key: string, condition = "true"): string {
  const parameters = types.map((type, index) => `$${first + index}::${type}[]`).join(", ");
  return `
    INSERT INTO model_call (account_id, trace_id, ${columns})
    SELECT account_id, trace_id, ${columns} FROM unnest(${parameters}) AS c (${key}, ${columns})
    JOIN ${source} USING (${key}) WHERE ${condition}`;
}

export interface CallOfSpan {
  /** The number of its request, from 1. */
  request: number;
  spanId: string;
  startedAt: string;
  call: ModelCall;
}

/** The parameters of {@link insertCallsSql}. */
export function callValues(calls: readonly CallOfSpan[]): unknown[] {
  return [
    calls.map(({ request }) => request),
    calls.map(({ spanId }) => spanId),
    calls.map(({ startedAt }) => startedAt),
    calls.map(({ call }) => call.provider),
    calls.map(({ call }) => call.model),
    calls.map(({ call }) => call.tokens?.input),
    calls.map(({ call }) => call.tokens?.output),
    calls.map(({ call }) => call.tokens?.cachedInput),
    calls.map(({ call }) => call.tokens?.cacheWrite),
    calls.map(({ call }) => call.tokens?.reasoning),
    calls.map(({ call }) => call.cost),
    calls.map(({ call }) => call.isTold),
  ];
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

/** Of `model_call` and `model_day`. */
export const tokenColumns = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
];

/**
 * The settled model calls that count, as a table: tokens and cost are null where they are not in the sums. Ranges of
 * `model_call_pkey` or `model_call_agent_idx`, by the conditions of the query around it.
 */
export const countedCallsSql = `(
    SELECT account_id, trace_id, agent_id, started_at, provider, model, cost IS NULL AS lacks_price,
      ${tokenColumns.map((name) => `CASE WHEN counted_part IS DISTINCT FROM 'cost' THEN ${name} END AS ${name}`).join(", ")},
      CASE WHEN counted_part IS DISTINCT FROM 'tokens' THEN cost END AS cost
    FROM model_call WHERE counts
  ) AS counted`;

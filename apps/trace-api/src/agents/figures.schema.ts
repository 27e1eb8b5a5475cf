import { z } from "zod";
import { costSchema } from "../usage/model-sums.schema.js";

const percentile = (percent: number) =>
  z.number().nullable().describe(`${percent} % of the ended traces took at most as many milliseconds`);

/** Figures of some traces. */
export const figureMembers = {
  failure_rate: z.number().nullable().describe("Traces with `error` or `timeout` by ended traces; null without any"),
  p50_ms: percentile(50),
  p90_ms: percentile(90),
  p99_ms: percentile(99),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: costSchema,
};

import { named } from "@waymark/service/http";
import { z } from "zod";

export const costSchema = z.string().nullable().describe("Dollars as a decimal number; null if no call has a price");

/** The model calls of one model. */
export const modelSumsSchema = z.object({
  provider: z.string().nullable().describe("As sent, in lower case"),
  model: z.string().nullable().describe("The answering model, else the requested one"),
  calls: z.number(),
  input_tokens: z.number().describe("With the cached ones"),
  output_tokens: z.number(),
  cached_input_tokens: z.number().describe("Read from a cache"),
  cache_write_tokens: z.number().optional().describe("Written to a cache; present if there are any"),
  reasoning_tokens: z.number().optional().describe("Part of the output; present if there are any"),
  cost_usd: costSchema,
});

/** The member `usage` of a trace. */
export const traceUsageSchema = named(
  "TraceUsage",
  z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cached_input_tokens: z.number(),
    cost_usd: costSchema,
    models: z.array(modelSumsSchema),
    unpriced_models: z.array(z.string()).describe("Models of calls without a price"),
  }),
);

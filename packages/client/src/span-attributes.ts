import { toText } from "./texts.js";

/** Tokens of a model call, with the cached ones in `input`. */
export interface TokenUsage {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  /** Dollars; without it the service reckons it by its price list. */
  costUsd?: number | undefined;
}

export interface SpanFacts {
  /** By OpenTelemetry's names, such as `gen_ai.request.temperature`. */
  attributes?: Readonly<Record<string, unknown>> | undefined;
  /** The model that was asked or that answered, such as `gpt-4o`. */
  model?: string | undefined;
  /** Such as `openai`. */
  provider?: string | undefined;
  usage?: TokenUsage | undefined;
}

const usageNames: Readonly<Record<string, string>> = {
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  costUsd: "gen_ai.usage.cost",
};

/** @param modelName of the attribute: a model is asked at the start of a span, and has answered at its end */
export function toAttributes({ attributes, model, provider, usage }: SpanFacts, modelName: string): object | undefined {
  const known: Record<string, unknown> = { ...attributes };
  if (model !== undefined) known[modelName] = toText(model);
  if (provider !== undefined) known["gen_ai.provider.name"] = toText(provider);
  for (const [name, count] of Object.entries(usage ?? {})) {
    const plain = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const attribute = usageNames[plain];
    if (attribute && typeof count === "number" && count >= 0) known[attribute] = count;
  }
  return Object.keys(known).length > 0 ? known : undefined;
}

import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { addDecimals, plainDecimal, usageOfAttributes, usageOfJson } from "./model-usage.js";
import type { AnyValue } from "./request.js";

const anyValue = (value: unknown): AnyValue => {
  if (typeof value === "string") return { value: "stringValue", stringValue: value };
  if (typeof value !== "number") return { value: "stringValue", stringValue: JSON.stringify(value) };
  return Number.isInteger(value)
    ? { value: "intValue", intValue: value }
    : { value: "doubleValue", doubleValue: value };
};
const tokens = (input: number, output: number, cachedInput = 0, cacheWrite = 0, reasoning = 0) => ({
  input,
  output,
  cachedInput,
  cacheWrite,
  reasoning,
});

describe("the usage of a span", () => {
  it.each<[string, Record<string, unknown>, object]>([
    [
      "OpenTelemetry, now",
      {
        "gen_ai.provider.name": "Anthropic",
        "gen_ai.request.model": "claude-sonnet",
        "gen_ai.response.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 50,
        "gen_ai.usage.cache_creation.input_tokens": 10,
        "gen_ai.usage.reasoning.output_tokens": 5,
      },
      { provider: "anthropic", model: "claude-sonnet-4-5", tokens: tokens(100, 20, 50, 10, 5) },
    ],
    [
      "OpenTelemetry before 1.28, and OpenLLMetry",
      {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.prompt_tokens": 12,
        "gen_ai.usage.completion_tokens": 3,
        "gen_ai.usage.cache_read_input_tokens": 4,
        "gen_ai.usage.reasoning_tokens": 2,
      },
      { provider: "openai", model: "gpt-4o", tokens: tokens(12, 3, 4, 0, 2) },
    ],
    [
      "OpenLLMetry, first names",
      {
        "llm.vendor": "OpenAI",
        "llm.request.model": "gpt-4",
        "llm.response.model": "gpt-4-0613",
        "llm.usage.prompt_tokens": 1,
        "llm.usage.completion_tokens": 2,
      },
      { provider: "openai", model: "gpt-4-0613", tokens: tokens(1, 2) },
    ],
    [
      "OpenInference",
      {
        "llm.provider": "azure",
        "llm.system": "openai",
        "llm.model_name": "gpt-4o",
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 10,
        "llm.token_count.prompt_details.cache_read": 40,
        "llm.token_count.prompt_details.cache_write": 5,
        "llm.token_count.completion_details.reasoning": 6,
        "llm.cost.prompt": 0.1,
        "llm.cost.completion": 0.2,
      },
      { provider: "azure", model: "gpt-4o", tokens: tokens(100, 10, 40, 5, 6), cost: "0.3" },
    ],
    [
      "Langfuse, each kind apart",
      {
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.usage_details": {
          input: 10,
          input_cached_tokens: 30,
          output: 5,
          output_reasoning_tokens: 2,
          total: 47,
        },
        "langfuse.observation.cost_details": { input: 0.1, output: 0.2, total: 0.35 },
      },
      { provider: "", model: "gpt-4o", tokens: tokens(40, 7, 30, 0, 2), cost: "0.35" },
    ],
    [
      "MLflow, whose texts are JSON",
      {
        "mlflow.llm.model": '"gpt-4o"',
        "mlflow.llm.provider": '"openai"',
        "mlflow.chat.tokenUsage": '{"input_tokens":40,"output_tokens":7,"total_tokens":47}',
        "mlflow.llm.cost": '{"input_cost":0.1,"output_cost":0.2,"total_cost":0.3}',
      },
      { provider: "openai", model: "gpt-4o", tokens: tokens(40, 7), cost: "0.3" },
    ],
    [
      "LiteLLM, whose parts are in the total",
      { "gen_ai.usage.input_tokens": 10, "litellm.cost.total": 4.6e-6, "litellm.cost.input": 1.6e-6 },
      { tokens: tokens(10, 0), cost: "0.0000046" },
    ],
    [
      "Braintrust and LiteLLM before its second telemetry",
      { "braintrust.metrics": '{"prompt_tokens":40,"completion_tokens":7}', "gen_ai.cost.total_cost": 0.25 },
      { tokens: tokens(40, 7), cost: "0.25" },
    ],
    [
      "Langfuse, in OpenAI's form",
      {
        "langfuse.observation.usage_details": {
          prompt_tokens: 40,
          completion_tokens: 7,
          total_tokens: 47,
          prompt_tokens_details: { cached_tokens: 30 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
        "langfuse.observation.cost_details": { input: 0.1, output: 0.2 },
      },
      { tokens: tokens(40, 7, 30, 0, 2), cost: "0.3" },
    ],
    [
      "Vercel AI SDK 6",
      {
        "ai.model.provider": "openai.responses",
        "ai.model.id": "gpt-5",
        "ai.response.model": "gpt-5-2025-08-07",
        "ai.usage.inputTokens": 20,
        "ai.usage.outputTokens": 10,
        "ai.usage.inputTokenDetails.cacheReadTokens": 8,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 1,
        "ai.usage.outputTokenDetails.reasoningTokens": 4,
      },
      { provider: "openai.responses", model: "gpt-5-2025-08-07", tokens: tokens(20, 10, 8, 1, 4) },
    ],
    [
      "Vercel AI SDK, earlier",
      { "ai.model.id": "gpt-4o", "ai.usage.promptTokens": 20, "ai.usage.completionTokens": 10 },
      { model: "gpt-4o", tokens: tokens(20, 10) },
    ],
    [
      "LangSmith",
      {
        "gen_ai.system": "langchain",
        "langsmith.metadata.ls_provider": "Anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 7,
        "langsmith.usage_metadata": {
          input_tokens: 40,
          output_tokens: 7,
          total_tokens: 47,
          input_token_details: { cache_read: 30, cache_creation: 4 },
          output_token_details: { reasoning: 2 },
        },
      },
      { provider: "anthropic", model: "claude-sonnet-4-5", tokens: tokens(40, 7, 30, 4, 2) },
    ],
    [
      "Claude Code's spans, which tell the input twice, with and without its cached tokens",
      {
        "gen_ai.provider.name": "anthropic",
        model: "claude-sonnet-4-5",
        input_tokens: 412,
        output_tokens: 37,
        cache_read_tokens: 1024,
        cache_creation_tokens: 0,
        "gen_ai.usage.input_tokens": 1436,
        "gen_ai.usage.output_tokens": 37,
        "gen_ai.usage.cache_read.input_tokens": 1024,
        "gen_ai.usage.cache_write.input_tokens": 0,
      },
      { provider: "anthropic", model: "claude-sonnet-4-5", tokens: tokens(1436, 37, 1024) },
    ],
    [
      "Strands Agents, which name their service as provider",
      {
        "gen_ai.event.start_time": "2026-11-28T11:53:44.836Z",
        "gen_ai.system": "weather-service",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
      },
      { model: "gpt-4o-mini", tokens: tokens(10, 5) },
    ],
    [
      "Codex",
      {
        "gen_ai.provider.name": "openai",
        model: "gpt-5-codex",
        input_token_count: "1436",
        output_token_count: "37",
        cached_token_count: "1024",
        cache_write_token_count: "200",
        reasoning_token_count: "12",
      },
      { provider: "openai", model: "gpt-5-codex", tokens: tokens(1436, 37, 1024, 200, 12) },
    ],
    ["a cost alone", { "gen_ai.usage.cost": 0.000151 }, { tokens: null, cost: "0.000151" }],
    ["tokens in strings", { "gen_ai.usage.input_tokens": "14" }, { tokens: tokens(14, 0) }],
    [
      "cached tokens beside the input",
      {
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.usage.reasoning.output_tokens": 9,
      },
      { tokens: tokens(103, 10, 100, 0, 9) },
    ],
  ])("is that of %s, in OTLP as in JSON", (_, attributes, expected) => {
    const inOtlp = Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
    const full = { provider: "", model: "", cost: null, ...expected };
    expect(usageOfAttributes(inOtlp)).toEqual(full);
    expect(usageOfJson(JSON.stringify(attributes))).toEqual(full);
  });

  it.each([
    [{}],
    [{ "gen_ai.request.model": "gpt-4o" }],
    [{ "gen_ai.usage.input_tokens": -1, "gen_ai.usage.output_tokens": 1.5, "gen_ai.usage.cost": -1 }],
    [{ "gen_ai.usage.input_tokens": [1], "gen_ai.usage.output_tokens": null, "llm.token_count.prompt": 1_000_000_001 }],
    [{ "langfuse.observation.usage_details": "no JSON", "langfuse.observation.cost_details": [1] }],
    [{ "langfuse.observation.usage_details": { total: 5 } }],
  ])("is none for %j", (attributes) => {
    expect(usageOfJson(JSON.stringify(attributes))).toBeNull();
  });

  it("is read from any attributes without an exception", () => {
    const name = fc.constantFrom(
      "langfuse.observation.usage_details",
      "langfuse.observation.cost_details",
      "gen_ai.usage.input_tokens",
      "gen_ai.usage.cost",
      "gen_ai.response.model",
      "gen_ai.system",
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(fc.json(), fc.jsonValue())), (attributes) => {
        const usage = usageOfJson(JSON.stringify(attributes));
        if (usage?.tokens) for (const count of Object.values(usage.tokens)) expect(count).toBeGreaterThanOrEqual(0);
        if (usage?.cost) expect(usage.cost).toMatch(/^\d+(\.\d+)?$/);
      }),
    );
  });
});

describe("long details", () => {
  it.each(["langfuse.observation.usage_details", "mlflow.chat.tokenUsage"])("in %s are not read", (name) => {
    const details = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`input_${n}`, 1])));
    expect(usageOfJson(JSON.stringify({ [name]: details(100) }))?.tokens?.input).toBe(100);
    expect(usageOfJson(JSON.stringify({ [name]: details(60_000) }))).toBeNull();
  });
});

describe("decimal numbers", () => {
  it.each([
    ["0.000151", "0.000151"],
    ["1e-7", "0.0000001"],
    ["1.5E+2", "150"],
    ["12.3400", "12.34"],
    ["007", "7"],
    ["0", "0"],
    ["999999999.9", "999999999.9"],
    ["1000000000", undefined],
    ["1e300", undefined],
    ["1e-300", "0"],
    ["-1", undefined],
    ["NaN", undefined],
    ["", undefined],
  ])("%s is %s", (text, expected) => {
    expect(plainDecimal(text)).toBe(expected);
  });

  it("add up exactly", () => {
    expect(addDecimals(["0.1", "0.2", "1"])).toBe("1.3");
    expect(addDecimals([])).toBeUndefined();
  });
});

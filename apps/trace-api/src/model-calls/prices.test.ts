import { describe, expect, it } from "@jest/globals";
import { calcPrice } from "@pydantic/genai-prices";
import fc from "fast-check";
import { loadPrices, roundCost } from "./prices.js";

const startedAt = "2026-06-01T12:00:00.000000Z";
const noTokens = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: 0 };

describe("prices", () => {
  it.each([
    ["openai", "gpt-4o", { input: 1_000, output: 100 }, "0.0035"],
    ["openai", "gpt-4o-2024-08-06", { input: 1_000, cachedInput: 100, output: 100 }, "0.003375"],
    ["azure.ai.openai", "gpt-4o", { input: 1, output: 0 }, "0.0000025"],
    ["openai.chat", "gpt-4o", { input: 1_000_000_000, output: 1_000_000_000 }, "12500"],
    ["", "gpt-4o", { input: 1_000, output: 100 }, "0.0035"],
    ["a proxy", "gpt-4o", { input: 1_000, output: 100 }, "0.0035"],
    ["anthropic", "claude-sonnet-4-5", { input: 1_000, cacheWrite: 500, cachedInput: 300, output: 10 }, "0.002715"],
    ["anthropic", "claude-sonnet-4-5", { input: 200_000, output: 0 }, "0.6"],
    ["anthropic", "claude-sonnet-4-5", { input: 200_001, output: 0 }, "1.200006"],
    ["gcp.gemini", "gemini-2.5-pro", { input: 1_000, output: 100, cachedInput: 100 }, "0.0021375"],
    ["openai", "gpt-4o", {}, "0"],
    ["openai", "no-such-model", { input: 1_000 }, null],
    ["", "", { input: 1_000 }, null],
  ])("of %s %s for %j are %s", async (provider, model, tokens, dollars) => {
    const price = await loadPrices();
    expect(price({ provider, model, startedAt, tokens: { ...noTokens, ...tokens } }).cost).toBe(dollars);
  });

  it.each([
    ["openai.chat", "gpt-4o", "openai"],
    ["", "gpt-4o", "openai"],
    ["azure.ai.openai", "gpt-4o", "azure"],
    ["gcp.vertex_ai", "gemini-2.5-pro", "google"],
    ["a proxy", "gpt-4o", "a proxy"],
    ["openai", "no-such-model", "openai"],
    ["", "", ""],
  ])("of %s %s have the list's own name of the provider, %s", async (provider, model, name) => {
    const price = await loadPrices();
    expect(price({ provider, model, startedAt, tokens: null })).toEqual({ provider: name, cost: null });
  });

  it("are those of the time of the call", async () => {
    const price = await loadPrices();
    const tokens = { ...noTokens, input: 1_000_000 };
    const at = (time: string) => price({ provider: "openai", model: "o3", startedAt: time, tokens }).cost;
    for (let repeated = 0; repeated < 2; repeated++) {
      expect(at("2025-05-01T00:00:00.000000Z")).toBe("10");
      expect(at("2025-07-01T00:00:00.000000Z")).toBe("2");
    }
  });

  it("are those of the time of day, for a model with cheap hours", async () => {
    const price = await loadPrices();
    const tokens = { ...noTokens, input: 1_000_000 };
    const at = (time: string) => price({ provider: "deepseek", model: "deepseek-chat", startedAt: time, tokens }).cost;
    expect(at("2025-03-01T12:00:00.000000Z")).toBe("0.27");
    expect(at("2025-03-01T20:00:00.000000Z")).toBe("0.135");
  });

  it("go to a repeated model at another count, and stay absent for an unknown one", async () => {
    const price = await loadPrices();
    const of = (model: string, input: number) =>
      price({ provider: "openai", model, startedAt, tokens: { ...noTokens, input } }).cost;
    expect([of("gpt-4o", 1), of("gpt-4o", 2), of("none", 1), of("none", 2)]).toEqual([
      "0.0000025",
      "0.000005",
      null,
      null,
    ]);
  });

  it("agree with the list's own sums, but for their binary fractions", async () => {
    const price = await loadPrices();
    const models = [
      ["openai", "gpt-5"],
      ["openai", "text-embedding-3-small"],
      ["anthropic", "claude-3-5-haiku-latest"],
      ["google", "gemini-1.5-pro"],
      ["perplexity", "sonar"],
      ["deepseek", "deepseek-chat"],
      ["groq", "llama-3.3-70b-versatile"],
    ] as const;
    const count = fc.integer({ min: 0, max: 400_000 });
    fc.assert(
      fc.property(
        fc.constantFrom(...models),
        count,
        count,
        count,
        count,
        ([provider, model], plain, read, write, output) => {
          const input = plain + read + write;
          const tokens = { input, cachedInput: read, cacheWrite: write, output, reasoning: 0 };
          const own = calcPrice(
            { input_tokens: input, cache_read_tokens: read, cache_write_tokens: write, output_tokens: output },
            model,
            { providerId: provider, timestamp: new Date(startedAt) },
          );
          if (!own) throw new Error(`the list has ${model}`);
          expect(Number(price({ provider, model, startedAt, tokens }).cost)).toBeCloseTo(own.total_price, 9);
        },
      ),
    );
  });
});

describe("roundCost", () => {
  it.each([
    ["0.000151", "0.000151"],
    ["1.0000000000005", "1.000000000001"],
    ["1.00000000000049999", "1"],
    ["0.0000000000004", "0"],
    ["100", "100"],
    ["10.50", "10.5"],
  ])("of %s is %s", (cost, rounded) => {
    expect(roundCost(cost)).toBe(rounded);
  });
});

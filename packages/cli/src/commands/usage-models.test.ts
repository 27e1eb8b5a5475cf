import { beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient, createApiClient } from "@waymark/client";
import { useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const startApp = useProcesses();
const accounts = createCommandLine({ DATABASE_URL: database.url }, () => new Date("2026-06-03T12:00:00Z"));
const email = "me@example.com";
let api: ApiClient;
let cli: ReturnType<typeof createCommandLine>;
let cheap = "";
let dear = "";

const call = (model: string, input: number) => ({
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": model,
  "gen_ai.usage.input_tokens": input,
  "gen_ai.usage.output_tokens": input / 10,
});

beforeAll(async () => {
  const { id } = await accounts.json<{ id: string }>("account", "create", "--email", email, "--plan", "pro");
  const args = ["key", "create", "--account", id, "--service", "trace", "--name", "test"];
  const { key } = await accounts.json<{ key: string }>(...args);
  const { url } = await startApp("trace-api", database.url);
  api = createApiClient({ key, url });
  cli = createCommandLine({ WAYMARK_TRACE_KEY: key, WAYMARK_TRACE_URL: url });
  const trace = async (agent_id: string, started_at: string, attributes: readonly Record<string, unknown>[]) => {
    const { trace_id } = await api.createTrace({ agent_id, name: "t", status: "running", started_at });
    for (const each of attributes) {
      await api.addSpan(trace_id, { name: "ask", status: "ok", started_at, attributes: each });
    }
    return trace_id;
  };
  cheap = await trace("a", "2026-06-01T12:00:00Z", [call("gpt-4o", 1_000)]);
  dear = await trace("b", "2026-06-02T12:00:00Z", [call("gpt-4o", 100_000), call("house-model", 50)]);
});

const sums = (calls: number, input_tokens: number, cost_usd: string | null) => ({
  calls,
  input_tokens,
  output_tokens: input_tokens / 10,
  cached_input_tokens: 0,
  cost_usd,
});

describe("usage models", () => {
  const usage = (...args: string[]) => ["usage", "models", "--account", email, ...args];

  it("sums by model, by agent and over time", async () => {
    expect(await accounts.json(...usage())).toEqual({
      from: "2026-05-04",
      to: "2026-06-04",
      interval: "day",
      total: sums(3, 101_050, "0.3535"),
      models: [
        { provider: "openai", model: "gpt-4o", ...sums(2, 101_000, "0.3535") },
        { provider: "openai", model: "house-model", ...sums(1, 50, null) },
      ],
      agents: [
        { agent_id: "b", ...sums(2, 100_050, "0.35") },
        { agent_id: "a", ...sums(1, 1_000, "0.0035") },
      ],
      series: [
        { day: "2026-06-01", ...sums(1, 1_000, "0.0035") },
        { day: "2026-06-02", ...sums(2, 100_050, "0.35") },
      ],
    });
    const { stdout } = await accounts.run(usage());
    expect(stdout).toMatch(
      /^MODEL +PROVIDER +CALLS +INPUT TOKENS +OUTPUT TOKENS +CACHED INPUT TOKENS +COST USD\ngpt-4o /,
    );
    expect(stdout).toMatch(/^2026-06-01 +1 +1000 +100 +0 +0\.0035$/m);
  });

  it("takes a range, an agent and longer intervals", async () => {
    const series = async (...args: string[]) =>
      (await accounts.json<{ series: { day: string; calls: number }[] }>(...usage(...args))).series.map(
        ({ day, calls }) => [day, calls],
      );
    expect(await series("--interval", "month")).toEqual([["2026-06-01", 3]]);
    expect(await series("--interval", "week", "--agent", "b")).toEqual([["2026-06-01", 2]]);
    expect(await series("--from", "2026-06-02", "--to", "2026-06-03")).toEqual([["2026-06-02", 2]]);
    const none = await accounts.run(usage("--to", "2026-05-01"));
    expect(none.stdout).toBe("There are no model calls.\n");
  });

  it.each([
    [["usage", "models"], "Give --key or set WAYMARK_TRACE_KEY"],
    [usage("--from", "2026-06-02", "--to", "2026-06-01"), "--from must be before --to."],
    [usage("--interval", "year"), "Allowed choices are day, week, month."],
  ])("refuses %j", async (args, sentence) => {
    expect(await accounts.run(args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(sentence) });
  });
});

describe("trace", () => {
  it("show prints tokens and cost by model, and in all", async () => {
    const { stdout } = await cli.run(["trace", "show", dear]);
    const lines = stdout.split("\n");
    const head = lines.findIndex((line) => line.startsWith("MODEL"));
    expect(lines.slice(head, head + 4).map((line) => line.split(/ {2,}/))).toEqual([
      ["MODEL", "PROVIDER", "CALLS", "INPUT TOKENS", "OUTPUT TOKENS", "COST USD"],
      ["gpt-4o", "openai", "1", "100000", "10000", "0.35"],
      ["house-model", "openai", "1", "50", "5", "-"],
      ["all", "-", "2", "100050", "10005", "0.35"],
    ]);
    expect(await cli.json("trace", "show", dear)).toEqual(await api.getTrace(dear, { include: "usage" }));
    expect((await cli.run(["trace", "show", cheap])).stdout).not.toMatch(/^all /m);
  });

  it("list finds traces by their cost", async () => {
    const found = async (cost: string) =>
      (await cli.json<{ id: string }[]>("trace", "list", "--min-cost", cost)).map(({ id }) => id);
    expect(await found("0.0035")).toEqual([dear, cheap]);
    expect(await found("0.004")).toEqual([dear]);
    expect(await cli.run(["trace", "list", "--min-cost", "1,5"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("It must be a decimal number of dollars"),
    });
  });
});

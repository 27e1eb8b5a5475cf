import { describe, expect, it } from "@jest/globals";
import { type TestAccount, useApp } from "../app.fixture.js";
import { readFixture, readRecordings, sendProtobuf } from "../otlp/otlp.fixture.js";

type Sums = Record<string, [input: number, output: number]>;

const everything = "from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z";

/** Adds to a sum by name; tokens of recorded spans are none, or those of spans without calls below them. */
function add(sums: Sums, key: string, input: number, output: number): void {
  const [inputs, outputs] = sums[key] ?? [0, 0];
  sums[key] = [inputs + input, outputs + output];
}

async function readSums(account: TestAccount, agents: readonly string[]) {
  const models: Sums = {};
  const days: Sums = {};
  const byAgent: Sums = {};
  const read = async (query: string) => (await account.get(`/api/v1/usage/models?${query}`).expect(200)).body;
  const { models: found, series } = await read(everything);
  for (const { model, input_tokens, output_tokens } of found) add(models, String(model), input_tokens, output_tokens);
  for (const { day, input_tokens, output_tokens } of series) add(days, day, input_tokens, output_tokens);
  for (const agent of agents) {
    for (const entry of (await read(`${everything}&agent_id=${encodeURIComponent(agent)}`)).series)
      add(byAgent, agent, entry.input_tokens, entry.output_tokens);
  }
  return { models, days, byAgent };
}

interface RecordedAttribute {
  key: string;
  value: { stringValue?: string; intValue?: string | number };
}
interface RecordedRequest {
  resourceSpans: {
    resource: { attributes: RecordedAttribute[] };
    scopeSpans: { spans: { startTimeUnixNano: string; attributes?: RecordedAttribute[] }[] }[];
  }[];
}

describe("the recorded requests and runs", () => {
  const test = useApp();

  it("of OpenTelemetry have the tokens that a count over their JSON finds", async () => {
    const account = await test.makeAccount("pro");
    const models: Sums = {};
    const days: Sums = {};
    for (const { json, protobuf } of readRecordings()) {
      await sendProtobuf(account, protobuf).expect(200);
      const { resourceSpans } = JSON.parse(json) as RecordedRequest;
      for (const span of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))) {
        const text = (name: string) => span.attributes?.find(({ key }) => key === name)?.value.stringValue;
        const number = (name: string) => Number(span.attributes?.find(({ key }) => key === name)?.value.intValue ?? 0);
        const langfuse = JSON.parse(text("langfuse.observation.usage_details") ?? "{}");
        const input = number("gen_ai.usage.input_tokens") + (langfuse.input_tokens ?? 0);
        const output = number("gen_ai.usage.output_tokens") + (langfuse.output_tokens ?? 0);
        if (input + output === 0) continue;
        const model =
          text("gen_ai.response.model") ?? text("gen_ai.request.model") ?? text("langfuse.observation.model.name");
        add(models, model ?? "null", input, output);
        add(
          days,
          new Date(Number(BigInt(span.startTimeUnixNano) / 1_000_000n)).toISOString().slice(0, 10),
          input,
          output,
        );
      }
    }
    expect(Object.keys(models).length).toBeGreaterThan(1);
    expect(await readSums(account, [])).toEqual({ models, days, byAgent: {} });
  });

  it("of agents, with tokens by a rule, have those of the spans without steps below them", async () => {
    const account = await test.makeAccount("pro");
    const expected: Record<"models" | "days" | "byAgent", Sums> = { models: {}, days: {}, byAgent: {} };
    for (const file of ["openai-agents", "openhands", "mini-swe-agent"]) {
      for (const { trace, spans } of readFixture<RecordedRun>(`${file}.traces.ndjson`)) {
        const { body } = await account.post("/api/v1/traces", trace).expect(201);
        // The rule: a span reports the letters of its name and its place as tokens, and every third one a model of its own.
        const reports = spans.map(({ name }, n) => [`model-${n % 3}`, name.length * 10 + n, n] as const);
        const batch = spans.map(({ parent, ...span }, n) => {
          const [model, input, output] = reports[n] ?? ["", 0, 0];
          return {
            ...span,
            ref: `${n}`,
            ...(parent !== null && { parent_ref: `${parent}` }),
            attributes: {
              "llm.model_name": model,
              "llm.token_count.prompt": input,
              "llm.token_count.completion": output,
            },
          };
        });
        await account.post(`/api/v1/traces/${body.trace_id}/spans/batch`, { spans: batch }).expect(201);
        const parents = new Set(spans.map(({ parent }) => parent));
        spans.forEach(({ started_at }, n) => {
          const [model, input, output] = reports[n] ?? ["", 0, 0];
          if (parents.has(n)) return;
          add(expected.models, model, input, output);
          add(expected.days, new Date(started_at).toISOString().slice(0, 10), input, output);
          add(expected.byAgent, trace.agent_id, input, output);
        });
      }
    }
    expect(await readSums(account, Object.keys(expected.byAgent))).toEqual(expected);
  });
});

interface RecordedRun {
  trace: { agent_id: string };
  spans: { name: string; started_at: string; parent: number | null }[];
}

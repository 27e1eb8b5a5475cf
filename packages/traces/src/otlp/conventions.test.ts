import { describe, expect, it } from "@jest/globals";
import { resultOf } from "@waymark/testing";
import fc from "fast-check";
import { mapRequest } from "./map-request.js";
import { readJson } from "./read-json.js";

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

function anyValue(value: Value): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: keyValues(value as Record<string, Value>) } };
}

function keyValues(attributes: Record<string, Value>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

interface Said {
  attributes?: Record<string, Value>;
  events?: readonly { name: string; attributes: Record<string, Value> }[];
  status?: object;
}

/** A root span that says so, as it is mapped. */
function map({ attributes = {}, events = [], status }: Said) {
  const span = {
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: "eee19b7ec3c1b174",
    attributes: keyValues(attributes),
    events: events.map((event) => ({ name: event.name, attributes: keyValues(event.attributes) })),
    status,
  };
  const resource = { attributes: keyValues({ "service.name": "shop" }) };
  const { request } = resultOf(readJson("traces", { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }));
  const [mapped] = resultOf(mapRequest(request)).spans;
  if (!mapped) throw new Error("the span is valid");
  const parse = (json: Buffer | null) => json && JSON.parse(json.toString());
  const { attributes: rest, otel } = parse(mapped.extra);
  return {
    input: parse(mapped.input),
    output: parse(mapped.output),
    rest,
    otel,
    status: mapped.status,
    error: mapped.error,
    agent: mapped.toldAgent ?? mapped.agentId,
  };
}

const messages = [{ role: "user", content: "hi" }];
const answer = [{ role: "assistant", content: "hello" }];

describe("input and output", () => {
  it.each<[string, Record<string, Value>, unknown, unknown]>([
    ["Claude Code, JSON of a tool", { tool_input: '[TOOL INPUT: Bash]\n{"command":"ls"}' }, { command: "ls" }, null],
    ["Claude Code, a tool's text", { tool_input: "[TOOL INPUT: Ask]\nWhy?" }, "[TOOL INPUT: Ask]\nWhy?", null],
    [
      "OpenTelemetry, as JSON in strings",
      { "gen_ai.input.messages": JSON.stringify(messages), "gen_ai.output.messages": JSON.stringify(answer) },
      messages,
      answer,
    ],
    [
      "OpenTelemetry, as values",
      { "gen_ai.input.messages": messages, "gen_ai.output.messages": answer },
      messages,
      answer,
    ],
    [
      "OpenTelemetry, with instructions",
      { "gen_ai.input.messages": JSON.stringify(messages), "gen_ai.system_instructions": '[{"content":"be short"}]' },
      { system_instructions: [{ content: "be short" }], messages },
      null,
    ],
    [
      "an OpenTelemetry tool",
      { "gen_ai.tool.call.arguments": '{"city":"Rome"}', "gen_ai.tool.call.result": "42" },
      { city: "Rome" },
      "42",
    ],
    [
      "OpenTelemetry before 1.28",
      { "gen_ai.prompt": JSON.stringify(messages), "gen_ai.completion": "hello" },
      messages,
      "hello",
    ],
    [
      "OpenLLMetry",
      {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "hi",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.name": "get_weather",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"city":"Rome"}',
      },
      messages,
      [{ role: "assistant", tool_calls: [{ name: "get_weather", arguments: { city: "Rome" } }] }],
    ],
    ["OpenLLMetry's entities", { "traceloop.entity.input": '"Rome"', "traceloop.entity.output": "12.5" }, "Rome", 12.5],
    [
      "OpenInference by media type",
      {
        "input.value": '{"a":1}',
        "input.mime_type": "application/json",
        "output.value": '{"b":2}',
        "output.mime_type": "text/plain",
      },
      { a: 1 },
      '{"b":2}',
    ],
    [
      "OpenInference's messages",
      {
        "llm.input_messages.1.message.content": "b",
        "llm.input_messages.0.message.content": "a",
        "output.value": "207.0",
      },
      [{ content: "a" }, { content: "b" }],
      "207.0",
    ],
    [
      "the Vercel AI SDK",
      { "ai.prompt.messages": JSON.stringify(messages), "ai.response.text": "hello", "ai.response.toolCalls": "[]" },
      messages,
      { text: "hello", toolCalls: [] },
    ],
    [
      "a tool of the Vercel AI SDK",
      { "ai.toolCall.args": '{"city":"Rome"}', "ai.toolCall.result": '"dry"' },
      { city: "Rome" },
      "dry",
    ],
    ["Langfuse", { "langfuse.observation.input": "{broken", "langfuse.observation.output": "" }, "{broken", ""],
    [
      "Mastra",
      { "mastra.agent_run.input": "hi", "mastra.agent_run.output": '{"text":"hello"}' },
      "hi",
      { text: "hello" },
    ],
    [
      "OpenInference's documents",
      { "input.value": "rome", "retrieval.documents.0.document.content": "A city" },
      "rome",
      [{ content: "A city" }],
    ],
    [
      "an OpenTelemetry retrieval",
      { "gen_ai.retrieval.query.text": "rome", "gen_ai.retrieval.documents": '[{"id":"1"}]' },
      "rome",
      [{ id: "1" }],
    ],
    [
      "Pydantic AI's events",
      { events: '[{"event.name":"gen_ai.user.message","content":"hi"},{"event.name":"gen_ai.choice","index":0}]' },
      [{ "event.name": "gen_ai.user.message", content: "hi" }],
      [{ "event.name": "gen_ai.choice", index: 0 }],
    ],
    [
      "Pydantic AI's agents",
      { "pydantic_ai.all_messages": JSON.stringify(messages), final_result: "hello" },
      messages,
      "hello",
    ],
    [
      "Google's ADK",
      { "gcp.vertex.agent.llm_request": '{"a":1}', "gcp.vertex.agent.llm_response": '{"b":2}' },
      { a: 1 },
      { b: 2 },
    ],
    ["MLflow", { "mlflow.spanInputs": '"hi"', "mlflow.spanOutputs": '["hello"]' }, "hi", ["hello"]],
    ["Braintrust", { "braintrust.input_json": '"hi"', "braintrust.output_json": "1.50" }, "hi", 1.5],
    ["Genkit", { "genkit:input": '{"q":1}', "genkit:output": "[1]" }, { q: 1 }, [1]],
  ])("come from attributes of %s, and these are used up", (_name, attributes, input, output) => {
    const mapped = map({ attributes: { ...attributes, other: true } });
    expect(mapped).toMatchObject({ input, output });
    const left = Object.keys(mapped.rest).filter((key) => !key.endsWith("mime_type"));
    expect(left).toEqual(["other"]);
  });

  it("are the first thousand attributes of a list, and the others stay attributes", () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 1_200 }, (_, n) => [`llm.input_messages.${n}.message.content`, "hi"]),
    );
    const { input, rest } = map({ attributes });
    expect(input).toHaveLength(1_000);
    expect(Object.keys(rest)).toHaveLength(200);
  });

  it("come from the first convention that has them, and the others stay attributes", () => {
    const { input, rest } = map({ attributes: { "ai.prompt": "b", "input.value": "a" } });
    expect(input).toBe("a");
    expect(rest).toEqual({ "ai.prompt": "b" });
  });

  it.each<[string, Record<string, Value>, unknown]>([
    ["instructions alone", { "gen_ai.system_instructions": "Be short" }, null],
    ["the name of a prompt", { "gen_ai.prompt.name": "greeting", "gen_ai.prompt.version": "3" }, null],
    ["events of other things", { events: '["event.name"]' }, null],
    ["other values", { events: 3 }, null],
    ["a broken list of events", { events: '[{"event.name":' }, null],
  ])("are not %s, which stay attributes", (_name, attributes, input) => {
    expect(map({ attributes })).toMatchObject({ input, rest: attributes });
  });

  it("are OpenInference's messages rather than the serialized call", () => {
    const serialized = '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"]}';
    const { input, rest } = map({
      attributes: { "input.value": serialized, "llm.input_messages.0.message.content": "hi" },
    });
    expect(input).toEqual([{ content: "hi" }]);
    expect(rest).toEqual({ "input.value": serialized });
  });

  it.each<[string, Said["events"], unknown, unknown]>([
    [
      "content",
      [
        { name: "gen_ai.content.prompt", attributes: { "gen_ai.prompt": "user: hi" } },
        { name: "gen_ai.content.completion", attributes: { "gen_ai.completion": "hello" } },
      ],
      "user: hi",
      "hello",
    ],
    [
      "messages",
      [
        { name: "gen_ai.system.message", attributes: { content: "be short" } },
        { name: "gen_ai.user.message", attributes: { content: "hi" } },
        { name: "gen_ai.choice", attributes: { index: 0, message: '{"content":"hello"}' } },
      ],
      [
        { role: "system", content: "be short" },
        { role: "user", content: "hi" },
      ],
      [{ index: 0, message: { content: "hello" } }],
    ],
  ])("come from events with %s, which are used up", (_name, events = [], input, output) => {
    const other = { name: "retry", attributes: {} };
    const mapped = map({ events: [...events, other] });
    expect(mapped).toMatchObject({ input, output });
    expect(mapped.otel.events).toEqual([{ ...other, time: null }]);
  });

  it("are not an empty text where another attribute says more, as of streamed answers that call tools", () => {
    const vercel = map({ attributes: { "ai.response.text": "", "ai.response.toolCalls": '[{"toolName":"a"}]' } });
    expect(vercel).toMatchObject({ output: [{ toolName: "a" }], rest: { "ai.response.text": "" } });
    const name = "llm.output_messages.0.message.tool_calls.0.tool_call.function.name";
    const openInference = map({ attributes: { "output.value": "", "output.mime_type": "text/plain", [name]: "a" } });
    expect(openInference.output).toEqual([{ tool_calls: [{ function: { name: "a" } }] }]);
    expect(openInference.rest).toEqual({ "output.value": "", "output.mime_type": "text/plain" });
    expect(map({ attributes: { "input.value": "", "output.value": "" } })).toMatchObject({ input: "", output: "" });
  });

  it("come from the event with details, whose other attributes stay", () => {
    const attributes = { "gen_ai.input.messages": JSON.stringify(messages), "gen_ai.response.id": "x" };
    const mapped = map({ events: [{ name: "gen_ai.client.inference.operation.details", attributes }] });
    expect(mapped).toMatchObject({ input: messages, output: null });
    expect(mapped.otel.events).toMatchObject([{ attributes: { "gen_ai.response.id": "x" } }]);
  });

  it("are null where nothing says them", () => {
    expect(map({ attributes: { a: "b" } })).toMatchObject({ input: null, output: null, rest: { a: "b" } });
  });

  it.each(["1", "true", "null", '"text"', "[1", "{}}", "[".repeat(201) + "]".repeat(201)])(
    "keep the string %s, which is no object or array of JSON or nests too deeply",
    (text) => {
      expect(map({ attributes: { "input.value": text } }).input).toBe(text);
    },
  );

  it("ignore gaps, strange numbers and __proto__ in lists of names", () => {
    const attributes = {
      "gen_ai.prompt.4000000000.a": 1,
      "gen_ai.prompt.999999999.a": 2,
      "gen_ai.completion.0.__proto__": 3,
    };
    const { input, output } = map({ attributes });
    expect(input).toEqual({ 4000000000: { a: 1 }, 999999999: { a: 2 } });
    expect(JSON.stringify(output)).toBe('[{"__proto__":3}]');
  });
});

describe("attributes whose names are paths", () => {
  const deep = `gen_ai.prompt.0.${"a.".repeat(15)}z`;

  it("keep every value of names with more than 12 segments", () => {
    const { input, rest } = map({ attributes: { [deep]: 1, [`${deep}.y`]: 2, [`${deep}.x`]: 3 } });
    expect(JSON.stringify(input)).toContain('{"a.a.a.a.a.z":1,"a.a.a.a.a.z.y":2,"a.a.a.a.a.z.x":3}');
    expect(rest).toEqual({});
  });

  it.each<[string, Record<string, Value>, unknown, Record<string, Value>]>([
    [
      "a leaf before a branch",
      { "gen_ai.prompt.0": "hi", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.1.role": "tool" },
      ["hi", { role: "tool" }],
      { "gen_ai.prompt.0.role": "user" },
    ],
    [
      "a branch before a leaf",
      { "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0": "hi" },
      [{ role: "user" }],
      { "gen_ai.prompt.0": "hi" },
    ],
  ])("stay attributes where there is no place for them: %s", (_name, attributes, input, left) => {
    expect(map({ attributes })).toMatchObject({ input, rest: left });
  });

  it("lose no value, whatever they are called", () => {
    const segment = fc.constantFrom("0", "1", "00", "a", "b", "");
    const path = fc.array(segment, { minLength: 1, maxLength: 16 }).map((segments) => segments.join("."));
    fc.assert(
      fc.property(fc.uniqueArray(path, { minLength: 1, maxLength: 20 }), (paths) => {
        const values = paths.map((_, n) => `value ${n}.`);
        const { input, rest } = map({
          attributes: Object.fromEntries(paths.map((name, n) => [`gen_ai.prompt.${name}`, values[n] ?? ""])),
        });
        const kept = JSON.stringify([input, rest]);
        expect(values.filter((value) => !kept.includes(value))).toEqual([]);
      }),
    );
  });
});

describe("errors", () => {
  const exception = {
    name: "exception",
    attributes: { "exception.type": "TypeError", "exception.message": "no city" },
  };

  it.each([
    [{ code: 2, message: "broken" }, "broken"],
    [{ code: "STATUS_CODE_ERROR" }, "no city"],
    [{ code: 1 }, null],
    [undefined, null],
  ])("are the status's message, else the exception's, where the status is an error: %j", (status, error) => {
    const mapped = map({ events: [exception], ...(status && { status }) });
    expect(mapped.error).toBe(error);
    expect(mapped.otel.events).toHaveLength(1);
  });

  it("are the exception's type where it has no message, else null", () => {
    const typed = { name: "exception", attributes: { "exception.type": "TypeError" } };
    expect(map({ events: [typed], status: { code: 2 } }).error).toBe("TypeError");
    expect(map({ status: { code: 2 } }).error).toBeNull();
  });

  it.each([
    [{ code: 0 }, "ERROR", "error", "no station"],
    [undefined, "ERROR", "error", "no station"],
    [{ code: 2, message: "broken" }, "ERROR", "error", "broken"],
    [{ code: 0 }, "WARNING", "ok", null],
  ])("are Langfuse's status message too: with the status %j and its level %s", (code, level, status, error) => {
    const attributes = { "langfuse.observation.level": level, "langfuse.observation.status_message": "no station" };
    expect(map({ attributes, ...(code && { status: code }) })).toMatchObject({ status, error });
  });
});

describe("the agent of a root", () => {
  it.each<[Record<string, Value>, string]>([
    [{ "gen_ai.agent.name": "clerk", "gen_ai.agent.id": "7", "agent.name": "a" }, "clerk"],
    [{ "gen_ai.agent.id": "7", "agent.name": "a" }, "7"],
    [{ "agent.name": "a" }, "a"],
    [{ "gen_ai.agent.name": "" }, "shop"],
    [{}, "shop"],
    [{ "agent.name": "x".repeat(300) }, "x".repeat(255)],
  ])("is named by %j", (attributes, agent) => {
    expect(map({ attributes }).agent).toBe(agent);
  });
});

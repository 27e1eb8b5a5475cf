import { setTimeout } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { createWaymark, currentSpan, observe } from "./index.js";

function connect() {
  const spans: Record<string, unknown>[] = [];
  const traces: Record<string, unknown>[] = [];
  const play: typeof fetch = async (_, init) => {
    const body = JSON.parse(String(init?.body));
    if (body.agent_id) traces.push(body);
    spans.push(...(body.spans ?? []));
    return Response.json({ trace_id: "t", span_ids: body.spans?.map((_: unknown, n: number) => `${n}`) });
  };
  return { waymark: createWaymark({ key: "wmk_trace_x", fetch: play, flushOnExit: false }), spans, traces };
}

it("an observed function returns as before, below the current span or as a trace of its own", async () => {
  const { waymark, spans, traces } = connect();
  const add = observe((a: number, b: number) => a + b, { name: "add", kind: "tool" });
  const greet = observe(async function greet(name: string) {
    await setTimeout(1);
    currentSpan()?.set({ model: "m", usage: { inputTokens: 3, outputTokens: 0 } });
    return `Hello ${name} ${add(1, 2)}`;
  });
  expect(greet.name).toBe("greet");
  expect(add(2, 3)).toBe(5);
  expect(await greet("you")).toBe("Hello you 3");
  expect(currentSpan()).toBeUndefined();
  await waymark.flush();
  expect(traces).toMatchObject([{ agent_id: "add", name: "add" }, { agent_id: "greet" }]);
  expect(spans.filter(({ name }) => name === "add")).toMatchObject([
    { kind: "tool", input: [2, 3], output: 5 },
    { input: [1, 2], output: 3, parent_ref: "0" },
  ]);
  expect(spans.find(({ name }) => name === "greet")).toMatchObject({
    input: "you",
    attributes: { "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 0 },
  });
});

it("the span of a generator lasts until it is read, and is current inside it", async () => {
  const { waymark, spans, traces } = connect();
  const words = waymark.observe(async function* words(text: string) {
    for (const word of text.split(" "))
      yield waymark.observe((part: string) => part.toUpperCase(), { name: "upper" })(word);
  });
  const read = words("a b");
  expect(traces).toHaveLength(0);
  const seen: string[] = [];
  for await (const word of read) seen.push(word);
  expect(seen).toEqual(["A", "B"]);
  await waymark.flush();
  expect(spans.map(({ name, parent_ref }) => [name, parent_ref])).toEqual([
    ["words", undefined],
    ["upper", "0"],
    ["upper", "0"],
  ]);
  expect(spans[0]).toMatchObject({ input: "a b", output: "AB" });
});

it("without a capture, only time and error are recorded; thrown objects reach the caller as they are", async () => {
  const { waymark, spans } = connect();
  const thrown = { code: 402 };
  const pay = waymark.observe(
    (_card: string): never => {
      throw thrown;
    },
    { name: "pay", capture: false },
  );
  let caught: unknown;
  try {
    pay("4242");
  } catch (error) {
    caught = error;
  }
  expect(caught).toBe(thrown);
  await waymark.flush();
  expect(spans[0]).toMatchObject({ name: "pay", status: "error", error: '{"code":402}' });
  expect(spans[0]).not.toHaveProperty("input");
});

it("methods keep their object, and things that are no functions come back as they are", () => {
  const { waymark } = connect();
  const till = {
    sum: 2,
    add: waymark.observe(function (this: { sum: number }, more: number) {
      return this.sum + more;
    }),
  };
  expect(till.add(3)).toBe(5);
  expect(waymark.observe(undefined as never)).toBeUndefined();
});

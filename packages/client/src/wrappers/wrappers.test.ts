import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { generateText, streamText, wrapLanguageModel } from "ai";
import OpenAI from "openai";
import { createWaymark } from "../index.js";
import { waymarkMiddleware } from "./ai-sdk.js";
import { wrapAnthropic } from "./anthropic.js";
import { waymarkHandler } from "./langchain.js";
import { wrapOpenAI } from "./openai.js";

const usage = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const toolCall = (text: string, more: object = {}) => ({
  index: 0,
  ...more,
  function: { arguments: text, ...("id" in more && { name: "get_order" }) },
});
const chatChunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o-2024",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const chatEvents = [
  chatChunk({ role: "assistant", content: "" }),
  ..."Hello, you there".split(" ").map((word) => chatChunk({ content: `${word} ` })),
  chatChunk({ tool_calls: [toolCall('{"id"', { id: "t1", type: "function" })] }),
  chatChunk({ tool_calls: [toolCall(": 7}")] }),
  chatChunk({}, "tool_calls"),
  { ...chatChunk({}), choices: [], usage },
];
const messageEvents = [
  {
    type: "message_start",
    message: {
      id: "m1",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 10, cache_read_input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ..."Hello, you there".split(" ").map((word) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: `${word} ` },
  })),
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "t1", name: "get_order", input: {} },
  },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"id"' } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: ": 7}" } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];

/** A model server; `cutAfter` events of a stream the connection breaks. */
let server: Server;
let cutAfter = Number.POSITIVE_INFINITY;
const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function stream(response: ServerResponse, events: readonly object[], end: string): void {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const event of events.slice(0, cutAfter)) {
    const name = "type" in event ? `event: ${event.type}\n` : "";
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  if (cutAfter < events.length) setTimeout(() => response.destroy(), 20);
  else response.end(end);
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const json = (status: number, answer: object) =>
      response
        .writeHead(status, { "Content-Type": "application/json", "x-request-id": "r1" })
        .end(JSON.stringify(answer));
    if (body.model === "broken") return void json(400, { error: { message: "no such model", type: "invalid" } });
    if (request.url?.endsWith("/embeddings"))
      return void json(200, {
        model: "e",
        data: [{ index: 0, embedding: [1, 2, 3] }],
        usage: { prompt_tokens: 2, total_tokens: 2 },
      });
    if (request.url?.endsWith("/messages")) {
      if (body.stream) return stream(response, messageEvents, "");
      const content = [{ type: "text", text: "Hello" }];
      return void json(200, { ...(messageEvents[0] as { message: object }).message, content, stop_reason: "end_turn" });
    }
    if (body.stream) return stream(response, chatEvents, "data: [DONE]\n\n");
    const message = { role: "assistant", content: "Hello", refusal: null };
    json(200, {
      id: "c1",
      object: "chat.completion",
      created: 1,
      model: "gpt-4o-2024",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Sent {
  name: string;
  kind: string;
  input: unknown;
  output: unknown;
  error?: string;
  attributes: Record<string, unknown>;
}

/** The spans that arrive of what is done. */
async function record(work: () => Promise<unknown>): Promise<Sent[]> {
  const spans: Sent[] = [];
  const play: typeof fetch = async (_, init) => {
    const body = JSON.parse(String(init?.body));
    spans.push(...(body.spans ?? []));
    return Response.json({ trace_id: "t", span_ids: body.spans?.map((_: unknown, n: number) => `${n}`) });
  };
  const waymark = createWaymark({ key: "wmk_trace_x", fetch: play, flushOnExit: false });
  await waymark.trace({ agent_id: "a", name: "root" }, work);
  await waymark.flush();
  return spans.filter(({ name }) => name !== "root");
}

const openai = () => new OpenAI({ apiKey: "x", baseURL: `${base()}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: "x", baseURL: base(), maxRetries: 0 });
const messages = [{ role: "user" as const, content: "Hello?" }];
const chat = { model: "gpt-4o", messages };
const claude = { model: "claude-x", max_tokens: 10, messages };

/** What a program sees of a stream: its parts and its error. */
async function see(begin: () => PromiseLike<AsyncIterable<unknown>>): Promise<[unknown[], string]> {
  const parts: unknown[] = [];
  try {
    for await (const part of await begin()) parts.push(part);
    return [parts, ""];
  } catch (error) {
    return [parts, String(error)];
  }
}

describe("an OpenAI client", () => {
  it("answers as before, with messages, model, tokens and finish recorded", async () => {
    const client = openai();
    const [span] = await record(async () => {
      expect(wrapOpenAI(wrapOpenAI(client))).toBe(client);
      const { data, request_id } = await client.chat.completions.create({ ...chat, temperature: 0 }).withResponse();
      expect([data.choices[0]?.message.content, request_id]).toEqual(["Hello", "r1"]);
    });
    expect(span).toMatchObject({ name: "chat gpt-4o", kind: "model", input: messages, output: { content: "Hello" } });
    expect(span?.attributes).toMatchObject({
      "gen_ai.provider.name": "openai",
      "gen_ai.response.model": "gpt-4o-2024",
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.reasoning.output_tokens": 2,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.request.temperature": 0,
    });
  });

  it("fails as before", async () => {
    const client = wrapOpenAI(openai());
    const [span] = await record(async () => {
      const failing = client.chat.completions.create({ ...chat, model: "broken" });
      await expect(failing).rejects.toThrow("no such model");
    });
    expect(span).toMatchObject({
      status: "error",
      error: expect.stringMatching(/^BadRequestError: 400 no such model/),
    });
  });

  it("streams as before; tool calls, tokens and the time of the first part are recorded", async () => {
    const begin = (client: OpenAI) => () => client.chat.completions.create({ ...chat, stream: true });
    const plain = await see(begin(openai()));
    const [span] = await record(async () => expect(await see(begin(wrapOpenAI(openai())))).toEqual(plain));
    expect(span?.output).toEqual({
      role: "assistant",
      content: "Hello, you there ",
      tool_calls: [{ id: "t1", type: "function", function: { name: "get_order", arguments: '{"id": 7}' } }],
    });
    expect(span?.attributes).toMatchObject({
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.response.time_to_first_chunk": expect.any(Number),
    });
  });

  it("keeps its helpers, and records a stream that is left", async () => {
    const client = wrapOpenAI(openai());
    const spans = await record(async () => {
      const helper = client.chat.completions.stream(chat);
      expect((await helper.finalChatCompletion()).choices[0]?.message.content).toBe("Hello, you there ");
      for await (const part of await client.chat.completions.create({ ...chat, stream: true })) {
        if (part.choices[0]?.delta.content) break;
      }
      const vectors = await client.embeddings.create({ model: "e", input: "text", encoding_format: "float" });
      expect(vectors.data[0]?.embedding).toEqual([1, 2, 3]);
    });
    expect(spans).toMatchObject([
      { output: { content: "Hello, you there " } },
      { output: { content: "Hello, " }, attributes: { "gen_ai.response.finish_reasons": ["aborted"] } },
      { name: "embeddings e", output: { embeddings: 1, dimensions: 3 } },
    ]);
  });
});

describe("an Anthropic client", () => {
  it("answers and streams as before, with cached tokens counted in the input", async () => {
    const plain = await see(() => anthropic().messages.create({ ...claude, stream: true }));
    const spans = await record(async () => {
      const client = wrapAnthropic(anthropic());
      expect((await client.messages.create(claude)).content).toMatchObject([{ text: "Hello" }]);
      expect(await see(() => client.messages.create({ ...claude, stream: true }))).toEqual(plain);
      expect((await client.messages.stream(claude).finalMessage()).stop_reason).toBe("tool_use");
    });
    const tool = { type: "tool_use", id: "t1", name: "get_order", input: { id: 7 } };
    const streamed = { content: [{ type: "text", text: "Hello, you there " }, tool] };
    expect(spans).toMatchObject([
      { output: { content: [{ text: "Hello" }] } },
      { output: streamed },
      { output: streamed },
    ]);
    expect(spans[1]?.attributes).toMatchObject({
      "gen_ai.usage.input_tokens": 15,
      "gen_ai.usage.output_tokens": 9,
      "gen_ai.usage.cache_read.input_tokens": 3,
      "gen_ai.usage.cache_creation.input_tokens": 2,
    });
  });
});

describe("streams that break at any place", () => {
  const places = Array.from({ length: 9 }, (_, place) => place);
  it.each(places)(
    "are seen as without the wrapper, and what had arrived is recorded: after %i events",
    async (place) => {
      cutAfter = place;
      try {
        const chatOf = (client: OpenAI) => see(() => client.chat.completions.create({ ...chat, stream: true }));
        const messageOf = (client: Anthropic) => see(() => client.messages.create({ ...claude, stream: true }));
        const plain = [await chatOf(openai()), await messageOf(anthropic())];
        const spans = await record(async () =>
          expect([await chatOf(wrapOpenAI(openai())), await messageOf(wrapAnthropic(anthropic()))]).toEqual(plain),
        );
        const words = ["Hello, ", "you ", "there "];
        const [chatText, messageText] = [
          words.slice(0, Math.max(0, place - 1)),
          words.slice(0, Math.max(0, place - 2)),
        ];
        expect(spans).toHaveLength(2);
        for (const [index, text] of [chatText.join(""), messageText.join("")].entries()) {
          expect(spans[index]).toMatchObject({ status: plain[index]?.[1] ? "error" : "ok" });
          if (text) expect(JSON.stringify(spans[index]?.output)).toContain(text);
        }
      } finally {
        cutAfter = Number.POSITIVE_INFINITY;
      }
    },
  );
});

it("a model of the AI SDK records its calls", async () => {
  const provider = createOpenAI({ apiKey: "x", baseURL: `${base()}/v1` });
  const model = wrapLanguageModel({ model: provider.chat("gpt-4o"), middleware: waymarkMiddleware() });
  const spans = await record(async () => {
    expect((await generateText({ model, prompt: "Hello?" })).text).toBe("Hello");
    const { textStream } = streamText({ model, prompt: "Hello?", onError: () => undefined });
    let text = "";
    for await (const part of textStream) text += part;
    expect(text).toBe("Hello, you there ");
  });
  expect(spans[0]).toMatchObject({ kind: "model", output: [{ type: "text", text: "Hello" }] });
  expect(spans[0]?.attributes).toMatchObject({ "gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": 12 });
  expect(spans[1]?.output).toMatchObject([
    { type: "text", text: "Hello, you there " },
    { type: "tool-call", toolName: "get_order" },
  ]);
});

it("LangChain's chains and models become a tree", async () => {
  const chain = RunnableLambda.from((text: string) => `${text}?`).pipe(new FakeListChatModel({ responses: ["Hello"] }));
  const spans = await record(() => chain.invoke("Hi", { callbacks: [waymarkHandler() as never] }));
  expect(spans.map(({ kind }) => kind)).toEqual(["chain", "chain", "model"]);
  expect(spans[2]).toMatchObject({
    input: [{ role: "human", content: "Hi?" }],
    output: { role: "ai", content: "Hello" },
  });
});

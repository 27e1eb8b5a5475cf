import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { Agent, handoff, OpenAIProvider, Runner, setTraceProcessors, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { createWaymark } from "../index.js";
import { wrapQuery } from "./claude-agent.js";
import { waymarkProcessor } from "./openai-agents.js";

const usage = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
};
const responseUsage = {
  input_tokens: 12,
  output_tokens: 5,
  total_tokens: 17,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens_details: { reasoning_tokens: 1 },
};

/** A model server whose answers call the tools of a list, and then say `Done`. `cutAfter` events a stream breaks. */
let server: Server;
let calls: { name: string; arguments: string }[] = [];
let cutAfter = Number.POSITIVE_INFINITY;

const chatAnswer = (message: object, finish_reason: string) => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-2024",
  choices: [{ index: 0, message: { role: "assistant", content: null, refusal: null, ...message }, finish_reason }],
  usage,
});
const responseOf = (output: object[], status = "completed") => ({
  id: "r1",
  object: "response",
  created_at: 1,
  model: "gpt-4o-2024",
  status,
  output,
  usage: status === "completed" ? responseUsage : null,
});

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const json = (status: number, answer: object) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
    if (body.model === "broken") return void json(400, { error: { message: "no such model" } });
    const call = calls.shift();
    if (request.url?.endsWith("/chat/completions")) {
      const called = call && [{ id: `t${calls.length}`, type: "function", function: call }];
      const message = called ? { tool_calls: called } : { content: "Done" };
      return void json(200, chatAnswer(message, called ? "tool_calls" : "stop"));
    }
    const text = { type: "output_text", text: "Done", annotations: [] };
    const item = call
      ? { type: "function_call", id: "f1", call_id: `t${calls.length}`, status: "completed", ...call }
      : { type: "message", id: "m1", role: "assistant", status: "completed", content: [text] };
    if (!body.stream) return void json(200, responseOf([item]));
    const place = { item_id: "m1", output_index: 0, content_index: 0 };
    const events = [
      { type: "response.created", response: responseOf([], "in_progress") },
      ...["Do", "ne"].map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: responseOf([item]) },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const event of events.slice(0, cutAfter))
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (cutAfter < events.length) setTimeout(() => response.destroy(), 20);
    else response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  [calls, cutAfter] = [[], Number.POSITIVE_INFINITY];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Sent {
  name: string;
  kind: string;
  ref?: string;
  parent_ref?: string;
  input: unknown;
  output: unknown;
  status: string;
  error?: string;
  attributes: Record<string, unknown>;
}

/** The spans that arrive of what is done, with the names of their parents, and the ends of their traces. */
async function record(work: () => Promise<unknown>) {
  const spans: (Sent & { below: string | undefined })[] = [];
  const ends: unknown[] = [];
  const play: typeof fetch = async (_, init) => {
    const body = JSON.parse(String(init?.body));
    const sent = (body.spans ?? []) as Sent[];
    if (init?.method === "PATCH") ends.push(body.status);
    const nameOf = (ref: string | undefined) => sent.find((span) => ref !== undefined && span.ref === ref)?.name;
    spans.push(...sent.map((span) => ({ ...span, below: nameOf(span.parent_ref) })));
    return Response.json({ trace_id: "t", span_ids: sent.map((_, n) => `${n}`) });
  };
  const options = { flushOnExit: false, flushIntervalMs: 600_000 };
  const waymark = createWaymark({ key: "wmk_trace_x", fetch: play, ...options });
  await work();
  await waymark.flush();
  return { spans, ends };
}

describe("OpenAI Agents", () => {
  const getOrder = tool({
    name: "get_order",
    description: "Reads an order",
    parameters: {
      type: "object",
      properties: { id: { type: "number" } },
      required: ["id"],
      additionalProperties: false,
    },
    execute: async (given) => {
      const { id } = given as { id: number };
      if (id === 13) throw new TypeError("no such order");
      return { id, state: "paid" };
    },
    errorFunction: null,
  });
  const agentOf = (model = "gpt-4o") => {
    const refunds = new Agent({ name: "Refunds", instructions: "Refund.", model });
    return new Agent({
      name: "Support",
      instructions: "Help.",
      model,
      tools: [getOrder],
      handoffs: [handoff(refunds)],
    });
  };
  const runner = (useResponses: boolean) => {
    const openAIClient = new OpenAI({
      apiKey: "x",
      baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      maxRetries: 0,
    });
    return new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses }), workflowName: "Order 7" });
  };
  const orderCall = (id: number) => ({ name: "get_order", arguments: `{"id":${id}}` });

  beforeAll(() => {
    setTracingDisabled(false);
    setTraceProcessors([waymarkProcessor({ agentId: "support" })]);
  });
  afterAll(() => {
    setTraceProcessors([]);
    setTracingDisabled(true);
  });

  it.each([false, true])("records agents, models, tools and handoffs (the Responses API: %s)", async (useResponses) => {
    const { spans, ends } = await record(async () => {
      calls = [orderCall(7), { name: "transfer_to_Refunds", arguments: "{}" }];
      const { finalOutput } = await runner(useResponses).run(agentOf(), "Refund 7");
      expect(finalOutput).toBe("Done");
    });
    const told = spans.map(({ name, kind, below }) => [name, kind, below]);
    expect(told[0]).toEqual(["Order 7", "agent", undefined]);
    expect(told).toContainEqual(["get_order", "tool", expect.any(String)]);
    expect(told).toContainEqual(["handoff Refunds", "agent", expect.any(String)]);
    expect(told.filter(([, kind]) => kind === "agent").map(([name]) => name)).toEqual(
      expect.arrayContaining(["Support", "Refunds"]),
    );
    expect(told.slice(1).every(([, , below]) => below !== undefined)).toBe(true);
    const models = spans.filter(({ kind }) => kind === "model");
    expect(models).toHaveLength(3);
    expect(JSON.stringify(models[0]?.input)).toContain("Refund 7");
    expect(JSON.stringify(models[2]?.output)).toContain("Done");
    expect(models[0]?.attributes).toMatchObject({
      "gen_ai.provider.name": "openai",
      "gen_ai.response.model": "gpt-4o-2024",
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 4,
    });
    expect(spans.find(({ kind }) => kind === "tool")).toMatchObject({
      input: { id: 7 },
      output: { id: 7, state: "paid" },
    });
    expect(JSON.stringify(spans[0]?.output)).toContain("Done");
    expect(ends).toEqual(["success"]);
  });

  it("records failing models and tools, and the program sees the same errors", async () => {
    const { spans } = await record(async () => {
      await expect(runner(true).run(agentOf("broken"), "Hi")).rejects.toThrow("no such model");
      calls = [orderCall(13)];
      await expect(runner(true).run(agentOf(), "Hi")).rejects.toThrow("no such order");
    });
    expect(spans.find(({ kind }) => kind === "model")).toMatchObject({ status: "error", error: expect.any(String) });
    expect(spans.find(({ kind }) => kind === "tool")).toMatchObject({ status: "error", error: expect.any(String) });
  });

  it.each([0, 1, 2, 3, 4, 9])("reads a stream as before where it breaks after %i events", async (place) => {
    cutAfter = place;
    const see = async () => {
      const parts: string[] = [];
      try {
        const stream = await runner(true).run(agentOf(), "Hi", { stream: true });
        for await (const text of stream.toTextStream()) parts.push(text);
        await stream.completed;
        return [parts, ""];
      } catch (error) {
        return [parts, String(error)];
      }
    };
    setTraceProcessors([]);
    const plain = await see();
    setTraceProcessors([waymarkProcessor({ agentId: "support" })]);
    const { spans } = await record(async () => expect(await see()).toEqual(plain));
    const model = spans.find(({ kind }) => kind === "model");
    expect(model).toMatchObject({ status: plain[1] ? "error" : "ok" });
    if (!plain[1]) expect(JSON.stringify(model?.output)).toContain("Done");
  });
});

describe("the Claude Agent SDK", () => {
  const program = fileURLToPath(new URL("./claude-code.fixture.mjs", import.meta.url));
  const ask = (from: typeof query, cut: number, prompt = "Refund 7") =>
    from({
      prompt,
      options: {
        pathToClaudeCodeExecutable: program,
        executable: process.execPath as "node",
        extraArgs: { cut: String(cut) },
      },
    });
  const see = async (from: typeof query, cut: number) => {
    const parts: unknown[] = [];
    try {
      for await (const { type } of ask(from, cut)) parts.push(type);
      return [parts, ""];
    } catch (error) {
      return [parts, String(error)];
    }
  };

  it("records messages, tools, subagents, tokens and cost of a session", async () => {
    const { spans, ends } = await record(() => see(wrapQuery(query), 99));
    expect(spans.map(({ name, kind, below }) => [name, kind, below])).toEqual([
      ["Claude agent", "agent", undefined],
      ["Task", "tool", "Claude agent"],
      ["get_order", "tool", "Task"],
      ["chat claude-x", "model", "Task"],
      ["chat claude-x", "model", "Claude agent"],
      ["chat claude-x", "model", "Task"],
      ["chat claude-x", "model", "Claude agent"],
    ]);
    expect(spans[0]).toMatchObject({ input: "Refund 7", output: "Refunded.", status: "ok" });
    expect(spans[0]?.attributes).toMatchObject({
      "gen_ai.conversation.id": "s1",
      "gen_ai.response.model": "claude-x",
      "gen_ai.usage.input_tokens": 15,
      "gen_ai.usage.output_tokens": 9,
      "gen_ai.usage.cost": 0.02,
    });
    expect(spans[2]).toMatchObject({ input: { id: 7 }, output: "no such order", status: "error" });
    expect(spans[4]?.output).toMatchObject({ content: [{ type: "text", text: "I ask." }, { type: "tool_use" }] });
    expect(ends).toEqual(["success"]);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    "keeps what had arrived of a session that breaks after %i messages",
    async (cut) => {
      const plain = await see(query, cut);
      const { spans } = await record(async () => expect(await see(wrapQuery(query), cut)).toEqual(plain));
      expect(spans[0]).toMatchObject({ name: "Claude agent", input: "Refund 7", status: plain[1] ? "error" : "ok" });
      const models = spans.filter(({ kind }) => kind === "model").length;
      expect(models).toBe([0, 0, 1, 1, 2, 2, 3, 3][cut]);
    },
  );
});

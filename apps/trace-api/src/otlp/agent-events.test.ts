import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Trace } from "@waymark/client";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { jsonOf, keyValues, logRecord, readTraces, sendJson, sendOtlp } from "./otlp.fixture.js";

const start = 1_780_315_200_000_000_000n;
const at = (ms: number) => String(start + BigInt(ms) * 1_000_000n);

type Attributes = Readonly<Record<string, unknown>>;

/** An event of Claude Code by its published list of October 2026: the name in the body, numbers as texts in part. */
function claude(session: string, ms: number, name: string, attributes: Attributes, members: Attributes = {}) {
  const standard = { "session.id": session, "user.id": "u-1", "event.name": name, "event.sequence": ms };
  return logRecord({
    timeUnixNano: at(ms),
    body: `claude_code.${name}`,
    attributes: { ...standard, ...attributes },
    ...members,
  });
}

/** A prompt with two requests and two tools, one of them rejected. */
function claudePrompt(session: string, from = 0) {
  const prompt = { "prompt.id": randomUUID() };
  const event = (ms: number, name: string, attributes: Attributes) =>
    claude(session, from + ms, name, { ...prompt, ...attributes });
  const request = (id: string, cost_usd: number) => ({
    model: "claude-opus-5",
    cost_usd,
    duration_ms: "1500",
    request_id: id,
    query_source: "repl_main_thread",
    input_tokens: "2",
    output_tokens: 1_200,
    cache_read_tokens: 84_562,
    cache_creation_tokens: 7_096,
  });
  const bash = { tool_name: "Bash", tool_use_id: "toolu_1" };
  return [
    event(0, "user_prompt", { prompt: "Fix the build\nplease", prompt_length: 20 }),
    event(2_000, "api_request", request("req_1", 0.125)),
    event(2_001, "assistant_response", { response: "I will look", request_id: "req_1", model: "claude-opus-5" }),
    event(2_100, "tool_decision", { ...bash, decision: "accept", source: "config" }),
    event(2_900, "tool_result", { ...bash, success: "true", duration_ms: 800, tool_input: '{"command":"make"}' }),
    event(3_000, "tool_decision", {
      tool_name: "Edit",
      tool_use_id: "toolu_2",
      decision: "reject",
      source: "user_reject",
    }),
    event(5_000, "api_request", request("req_2", 0.25)),
    event(5_001, "assistant_response", { response: "Done", request_id: "req_2", model: "claude-opus-5" }),
  ];
}

/** An event of Codex, by its source of October 2026. */
function codex(conversation: string, ms: number, name: string, attributes: Attributes) {
  const standard = { "event.name": `codex.${name}`, "conversation.id": conversation, model: "gpt-5-codex" };
  return logRecord({ timeUnixNano: at(ms), attributes: { ...standard, ...attributes } });
}

function codexPrompt(conversation: string, from: number, text: string) {
  const call = { tool_name: "shell", call_id: `call_${from}` };
  return [
    codex(conversation, from, "user_prompt", { prompt: text, prompt_length: text.length }),
    codex(conversation, from + 300, "api_request", {
      duration_ms: "250",
      attempt: 1,
      "http.response.status_code": 200,
    }),
    codex(conversation, from + 400, "sse_event", { "event.kind": "response.output_item.done", duration_ms: "1" }),
    codex(conversation, from + 499, "sse_event", { "event.kind": "response.completed", duration_ms: "2" }),
    codex(conversation, from + 500, "sse_event", {
      "event.kind": "response.completed",
      input_token_count: "1000",
      output_token_count: "100",
      cached_token_count: 400,
      reasoning_token_count: 40,
    }),
    codex(conversation, from + 600, "tool_decision", { ...call, decision: "approved", source: "config" }),
    codex(conversation, from + 900, "tool_result", {
      ...call,
      arguments: '{"command":["ls"]}',
      duration_ms: "200",
      success: "false",
      output: "no such file",
    }),
  ];
}

const logsOfAgent = (service: string, logRecords: readonly object[]) => ({
  resourceLogs: [{ resource: { attributes: keyValues({ "service.name": service }) }, scopeLogs: [{ logRecords }] }],
});

describe("events of agents that send no spans", () => {
  const test = useApp();
  const send = (account: TestAccount, service: string, records: readonly object[]) =>
    sendOtlp(account, Buffer.from(JSON.stringify(logsOfAgent(service, records))), "application/json", {
      path: "/v1/logs",
    }).expect(200);
  const read = async (account: TestAccount) => {
    const traces = await readTraces(account, (text, values) => test.pool.query(text, values));
    const byStart = (a: { started_at: string }, b: { started_at: string }) => (a.started_at < b.started_at ? -1 : 1);
    return [...traces.values()].map((trace) => ({ ...trace, spans: trace.spans.toSorted(byStart) })).sort(byStart);
  };
  const usageOf = async (account: TestAccount, { id }: Trace) =>
    (await account.get(`/api/v1/traces/${id}?include=usage`).expect(200)).body.usage;
  const outline = ({ spans }: Trace) =>
    spans.map(({ name, status, input, output, error }) => ({ name, status, input, output, error }));

  it("make a run of each prompt of Claude Code, with requests, tools, texts, tokens and the sender's cost", async () => {
    const account = await test.makeAccount("pro");
    const session = randomUUID();
    const answer = await send(account, "claude-code", [...claudePrompt(session), ...claudePrompt(session, 60_000)]);
    expect(jsonOf(answer)).toEqual({});
    const runs = await read(account);
    expect(runs).toHaveLength(2);
    const [run] = runs as [Trace];
    expect(run).toMatchObject({
      agent_id: "claude-code",
      name: "Fix the build",
      status: "success",
      started_at: "2026-06-01T12:00:00.000Z",
      ended_at: "2026-06-01T12:00:05.000Z",
    });
    expect(outline(run)).toEqual([
      { name: "Fix the build", status: "ok", input: "Fix the build\nplease", output: expect.anything(), error: null },
      { name: "chat claude-opus-5", status: "ok", input: null, output: said("I will look"), error: null },
      { name: "execute_tool Bash", status: "ok", input: { command: "make" }, output: null, error: null },
      { name: "execute_tool Edit", status: "error", input: null, output: null, error: "Rejected: user_reject" },
      { name: "chat claude-opus-5", status: "ok", input: null, output: said("Done"), error: null },
    ]);
    expect(run.spans[0]?.output).toEqual(said("Done"));
    expect(run.spans[1]).toMatchObject({
      started_at: "2026-06-01T12:00:00.500Z",
      ended_at: "2026-06-01T12:00:02.000Z",
    });
    expect(await usageOf(account, run)).toMatchObject({
      input_tokens: 2 * (2 + 84_562 + 7_096),
      output_tokens: 2_400,
      cached_input_tokens: 2 * 84_562,
      cost_usd: "0.375",
    });
  });

  it("make a failed run, told once, of a prompt whose request failed", async () => {
    const account = await test.makeAccount("pro");
    const prompt = { "prompt.id": "p" };
    const records = [
      claude("s", 0, "user_prompt", { ...prompt, prompt: "<REDACTED>", command_name: "compact" }),
      claude("s", 900, "api_error", { ...prompt, model: "claude-opus-5", error: "Overloaded", duration_ms: 800 }),
    ];
    for (let n = 0; n < 2; n++) await send(account, "claude-code", records);
    expect(await read(account)).toMatchObject([
      { name: "/compact", status: "error", spans: [{ input: null }, { status: "error", error: "Overloaded" }] },
    ]);
    expect(test.queued.filter(({ accountId }) => accountId === account.id)).toHaveLength(1);
  });

  it("stay with the spans of Claude Code's traces where these exist, and count once", async () => {
    const account = await test.makeAccount("pro");
    const ids = { traceId: "1".repeat(32), spanId: "2".repeat(16) };
    const attributes = keyValues({
      model: "claude-opus-5",
      input_tokens: 2,
      output_tokens: 1_200,
      cache_read_tokens: 50,
      cache_creation_tokens: 10,
      "gen_ai.system": "anthropic",
    });
    const span = {
      ...ids,
      name: "claude_code.llm_request",
      startTimeUnixNano: at(0),
      endTimeUnixNano: at(9),
      attributes,
    };
    await sendJson(account, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).expect(200);
    await send(account, "claude-code", [
      claude("s", 9, "api_request", { input_tokens: 2, output_tokens: 1_200, cost_usd: 1 }, ids),
    ]);
    const [run, ...others] = (await read(account)) as [Trace];
    expect(others).toEqual([]);
    expect(await usageOf(account, run)).toMatchObject({
      input_tokens: 62,
      output_tokens: 1_200,
      cached_input_tokens: 50,
    });
  });

  it("make a run of each prompt of Codex, also where its events come in later requests", async () => {
    const account = await test.makeAccount("pro");
    const events = [
      codex("c", 0, "conversation_starts", { provider_name: "openai" }),
      ...codexPrompt("c", 10, "List the files"),
      ...codexPrompt("c", 5_000, "And now"),
    ];
    for (const event of events) await send(account, "codex_cli_rs", [event]);
    await send(account, "codex_cli_rs", events);
    const runs = (await read(account)).filter(({ spans }) => spans.length > 0);
    expect(runs.map(({ name, status }) => ({ name, status }))).toEqual([
      { name: "List the files", status: "success" },
      { name: "And now", status: "success" },
    ]);
    const [run] = runs as [Trace];
    expect(outline(run)).toEqual([
      { name: "List the files", status: "ok", input: "List the files", output: null, error: null },
      { name: "chat gpt-5-codex", status: "ok", input: null, output: null, error: null },
      {
        name: "execute_tool shell",
        status: "error",
        input: { command: ["ls"] },
        output: "no such file",
        error: "no such file",
      },
    ]);
    const { body: labelled } = await account.get(`/api/v1/traces/${run.id}?include=labels`).expect(200);
    expect(labelled).toMatchObject({ session_id: "c" });
    expect(await usageOf(account, run)).toMatchObject({
      input_tokens: 1_000,
      output_tokens: 100,
      cached_input_tokens: 400,
    });
  });

  it("make the same runs in any pieces and order, doubled, over two instances at once", async () => {
    const second = await test.startInstance();
    const pieces = fc.array(fc.nat({ max: 3 }), { minLength: 16, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.array(fc.nat({ max: 15 }), { maxLength: 5 }), async (places, repeated) => {
        const [split, whole] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
        const events = [...claudePrompt("s"), ...claudePrompt("s", 60_000)];
        await send(whole, "claude-code", events);
        const parts = [0, 1, 2, 3].map((part) => events.filter((_, n) => places[n] === part));
        const sent = [...parts, repeated.flatMap((n) => events[n] ?? [])];
        await Promise.all(sent.map((part, n) => send(n % 2 ? second(split) : split, "claude-code", part)));
        const [runs, expected] = [await read(split), await read(whole)];
        const bare = (traces: Trace[]) =>
          traces.map(({ id, spans, ...trace }) => ({ ...trace, spans: spans.map(shorn) }));
        expect(bare(runs)).toEqual(bare(expected));
        for (const [n, run] of runs.entries()) {
          expect(await usageOf(split, run)).toEqual(await usageOf(whole, expected[n] as Trace));
        }
      }),
      randomRuns(10),
    );
  });

  it("without a session are refused with a sentence, and run into the plan's limits as spans do", async () => {
    const account = await test.makeAccount("free");
    const lost = logRecord({ timeUnixNano: at(0), body: "claude_code.user_prompt" });
    expect(jsonOf(await send(account, "claude-code", [lost]))["partialSuccess"]).toMatchObject({
      rejectedLogRecords: "1",
      errorMessage: expect.stringContaining("an agent's event must have session.id"),
    });
    await send(account, "claude-code", claudePrompt("s"));
    const refused = jsonOf(await send(account, "another-agent", claudePrompt("t")))["partialSuccess"];
    expect(refused).toMatchObject({ errorMessage: expect.stringContaining("Free plan limited to 1 agent") });
  });
});

const said = (content: string) => [{ role: "assistant", parts: [{ type: "text", content }] }];

/** Without the ids, which differ between accounts. */
function shorn({ id, parent_span_id, ...span }: Trace["spans"][number]) {
  return { ...span, id: id.slice(13), parent: parent_span_id?.slice(13) ?? null };
}

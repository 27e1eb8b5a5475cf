import { createHash } from "node:crypto";
import { textOfValue } from "./any-value.js";
import { detailsEvent } from "./conventions.js";
import type { LogRecord, OtlpSpan } from "./read-json.js";
import { type AnyValue, type KeyValue, type Unsigned64, withMembers } from "./request.js";

/** What an agent's event becomes: a span of its run, a log record of one, or neither where it says nothing of the run. */
export interface AgentEvent {
  spans: OtlpSpan[];
  logs: LogRecord[];
}

/** An event of an agent that sends no spans. */
export interface Told {
  agent: "claude_code" | "codex";
  /** Without the agent's name. */
  kind: string;
  record: LogRecord;
  nanos: bigint;
  /** The session or conversation. */
  session: string;
}

const redacted = new Set(["<REDACTED>", "[REDACTED]"]);
const nanosPerMs = 1_000_000n;
const maxPromptName = 100;

/** Reads the event of a record of Claude Code or Codex; undefined for other records. */
export function toldBy(record: LogRecord, name: string, nanos: bigint): Told | undefined {
  const said = textOfValue(record.body) ?? "";
  const full = /^(claude_code|codex)\./.test(name) ? name : said;
  const [, agent, kind] = /^(claude_code|codex)\.(\w+)$/.exec(full) ?? [];
  if ((agent !== "claude_code" && agent !== "codex") || kind === undefined) return undefined;
  const session = textOf(record, agent === "codex" ? "conversation.id" : "session.id");
  return { agent, kind, record, nanos, session };
}

/** The trace id of a Claude Code prompt, or of the session's events outside of one. */
export function claudeTrace({ record, session }: Told): Buffer {
  return hashOf("claude_code", session, textOf(record, "prompt.id")).subarray(0, 16);
}

/** The trace ids of a Codex conversation: its hash, then the time of a prompt. An index finds the last one before a time. */
export function codexTrace(session: string, promptNanos: bigint): Buffer {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(promptNanos);
  return Buffer.concat([hashOf("codex", session).subarray(0, 8), time]);
}

/** What the events of a run become, by kind. Others stay in the logs of the prompt's span. */
export function eventOf(told: Told, traceId: Buffer): AgentEvent {
  const make = { claude_code: claudeEvents, codex: codexEvents }[told.agent][told.kind];
  const run = new Run(told, traceId);
  return make ? make(run) : { spans: [], logs: [run.log(run.rootId)] };
}

/** The answer of Claude Code where its event names a span: that span's output. */
export function answerOf(record: LogRecord): LogRecord {
  if (textOfValue(record.body) !== "claude_code.assistant_response") return record;
  return withMembers(record, detailsOf(textOf(record, "response")) ?? {});
}

function detailsOf(answer: string): Pick<LogRecord, "eventName" | "body" | "attributes"> | undefined {
  if (answer === "" || redacted.has(answer)) return undefined;
  const parts = { parts: list(object({ type: string("text"), content: string(answer) })) };
  return detailsWith(list(object({ role: string("assistant"), ...parts })));
}

const detailsWith = (output: AnyValue) => ({
  eventName: detailsEvent,
  body: null,
  attributes: [{ key: "gen_ai.output.messages", value: output }],
});

type MakeEvent = (run: Run) => AgentEvent;
const nothing: AgentEvent = { spans: [], logs: [] };

/** https://code.claude.com/docs/en/monitoring-usage#events, October 2026 */
const claudeEvents: Readonly<Record<string, MakeEvent>> = {
  user_prompt: (run) => run.prompt(),
  api_request: (run) => run.span(`chat ${run.text("model")}`, run.requestId),
  api_error: (run) => {
    const isMain = /^(|repl_main_thread.*|sdk.*)$/.test(run.text("query_source")) && !/abort/i.test(run.text("error"));
    return run.span(`chat ${run.text("model")}`, run.requestId, { error: run.text("error"), isRoot: isMain });
  },
  assistant_response: (run) => {
    const details = detailsOf(run.text("response"));
    return {
      spans: [],
      logs: details ? [run.requestId, run.rootId].map((id) => run.log(id, details)) : [],
    };
  },
  api_response_body: (run) => {
    const message = run.text("body");
    const isWhole = message.startsWith("{") && run.text("body_truncated") !== "true";
    const details = isWhole ? detailsWith(string(`[${message}]`)) : {};
    return { spans: [], logs: [run.log(run.requestId, details)] };
  },
  tool_result: (run) => run.tool(run.text("tool_use_id"), run.text("error") || run.text("error_type")),
  tool_decision: (run) => {
    if (run.text("decision") !== "reject") return { spans: [], logs: [run.log(run.toolId(run.text("tool_use_id")))] };
    return run.tool(run.text("tool_use_id"), `Rejected: ${run.text("source")}`, true);
  },
};

/** https://developers.openai.com/codex/config-file/config-advanced, and `codex-rs/otel` of the repository openai/codex */
const codexEvents: Readonly<Record<string, MakeEvent>> = {
  user_prompt: (run) => run.prompt(),
  sse_event: (run) => {
    const error = run.text("error.message");
    if (error !== "") return run.span(`chat ${run.text("model")}`, run.ownId, { error });
    // An event of this kind without tokens comes first.
    return run.text("output_token_count") === "" ? nothing : run.span(`chat ${run.text("model")}`, run.ownId);
  },
  api_request: (run) => {
    const error = run.text("error.message");
    return error === ""
      ? { spans: [], logs: [run.log(run.rootId)] }
      : run.span(`chat ${run.text("model")}`, run.ownId, { error });
  },
  tool_result: (run) => run.tool(run.text("call_id"), run.text("output")),
};

class Run {
  readonly rootId: Buffer;
  readonly ownId: Buffer;

  constructor(
    private readonly told: Told,
    private readonly traceId: Buffer,
  ) {
    this.rootId = this.id("prompt");
    this.ownId = this.id(told.kind, String(told.nanos), this.text("event.sequence"), this.text("event.kind"));
  }

  /** A request has one id, its client's, or neither in a release before. */
  get requestId(): Buffer {
    const id = this.text("request_id") || this.text("client_request_id");
    return id === "" ? this.ownId : this.id("request", id);
  }

  toolId(callId: string): Buffer {
    return callId === "" ? this.ownId : this.id("tool", callId);
  }

  text(key: string): string {
    return textOf(this.told.record, key);
  }

  /** The root of a run: the prompt, with its first line as name. */
  prompt(): AgentEvent {
    const given = this.text("prompt");
    const prompt = redacted.has(given) ? "" : given;
    const command = this.text("command_name");
    const name = prompt.trim().split("\n", 1)[0]?.slice(0, maxPromptName) || (command && `/${command}`) || "prompt";
    const input = prompt === "" ? {} : { "input.value": string(prompt), "input.mime_type": string("text/plain") };
    const attributes = { "gen_ai.operation.name": string("invoke_agent"), ...input };
    return this.make(name, this.rootId, attributes, { isRoot: true, without: ["prompt"] });
  }

  span(name: string, id: Buffer, how: { error?: string; isRoot?: boolean } = {}): AgentEvent {
    const provider = this.told.agent === "codex" ? "openai" : "anthropic";
    const attributes = {
      "gen_ai.operation.name": string("chat"),
      "gen_ai.provider.name": string(provider),
      "gen_ai.request.model": string(this.text("model")),
    };
    return this.make(name.trim(), id, attributes, how);
  }

  tool(callId: string, error: string, isRejected = false): AgentEvent {
    const name = this.text("tool_name");
    const given = this.text("tool_input") || this.text("arguments") || this.text("tool_parameters");
    const isFailed = isRejected || this.text("success") === "false";
    const output = this.text("output");
    const attributes = {
      "gen_ai.operation.name": string("execute_tool"),
      "gen_ai.tool.name": string(name),
      ...(given !== "" && { "gen_ai.tool.call.arguments": string(given) }),
      ...(output !== "" && { "gen_ai.tool.call.result": string(output) }),
    };
    const without = ["tool_input", "arguments", "output"];
    const failure = isFailed ? { error: error || "The tool failed" } : {};
    return this.make(`execute_tool ${name}`, this.toolId(callId), attributes, { ...failure, without });
  }

  log(spanId: Buffer, members: Partial<LogRecord> = {}): LogRecord {
    const { record, agent, kind } = this.told;
    return withMembers(record, { eventName: `${agent}.${kind}`, traceId: this.traceId, spanId, ...members });
  }

  private id(...parts: string[]): Buffer {
    return hashOf(this.traceId.toString("hex"), ...parts).subarray(0, 8);
  }

  private make(
    name: string,
    spanId: Buffer,
    attributes: Readonly<Record<string, AnyValue>>,
    { error, isRoot = false, without = [] }: { error?: string; isRoot?: boolean; without?: readonly string[] },
  ): AgentEvent {
    const { nanos, record } = this.told;
    const ms = Math.min(Math.max(Math.trunc(Number(this.text("duration_ms"))) || 0, 0), 86_400_000);
    const begun = nanos - BigInt(ms) * nanosPerMs;
    const added = Object.entries(attributes).map(([key, value]) => ({ key, value }));
    const span = {
      traceId: this.traceId,
      spanId,
      parentSpanId: isRoot ? Buffer.alloc(0) : this.rootId,
      flags: 0,
      traceState: "",
      name,
      kind: 0,
      startTimeUnixNano: halvesOf(begun > 0n ? begun : nanos),
      endTimeUnixNano: halvesOf(nanos),
      attributes: [...record.attributes.filter(({ key }) => !without.includes(key) && !(key in attributes)), ...added],
      droppedAttributesCount: 0,
      events: [],
      droppedEventsCount: 0,
      links: [],
      droppedLinksCount: 0,
      status: error === undefined ? null : { code: 2, message: error },
    };
    return { spans: [span], logs: [] };
  }
}

function hashOf(...parts: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}

function halvesOf(nanos: bigint): Unsigned64 {
  return { low: Number(nanos & 0xffffffffn), high: Number(nanos >> 32n) };
}

/** An attribute as text: numbers and truth values come as such or as text. */
function textOf({ attributes }: LogRecord, key: string): string {
  const value = attributes.find((attribute) => attribute.key === key)?.value;
  switch (value?.value) {
    case "stringValue":
      return value.stringValue;
    case "intValue":
      return value.intValue.toString();
    case "doubleValue":
      return String(value.doubleValue);
    case "boolValue":
      return String(value.boolValue);
    default:
      return "";
  }
}

const string = (text: string): AnyValue => ({ value: "stringValue", stringValue: text });
const list = (...values: AnyValue[]): AnyValue => ({ value: "arrayValue", arrayValue: { values } });
const object = (members: Readonly<Record<string, AnyValue>>): AnyValue => ({
  value: "kvlistValue",
  kvlistValue: { values: Object.entries(members).map(([key, value]): KeyValue => ({ key, value })) },
});

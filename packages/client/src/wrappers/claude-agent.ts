import { type AnyFunction, currentOrNew } from "../observe.js";
import type { EndOptions, SpanHandle } from "../span-handle.js";
import { tap } from "../tap.js";
import { usageOf } from "./anthropic.js";
import { countOf, type Loose, loose, quietly, textOf, type WrapOptions } from "./model-call.js";

/** A message of the model, in one or more parts of the same id; it goes out once another begins. */
interface Message {
  readonly id: string | undefined;
  readonly startedAt: Date;
  readonly input: unknown;
  model: string | undefined;
  content: unknown[];
  reason: string | undefined;
}

/** What the session and each subagent do now; a subagent's id is that of the tool's call that began it. */
interface Conversation {
  message: Message | undefined;
  /** What the model was told last, and when. */
  asked: unknown;
  askedAt: Date;
}

/** Tools and subagents of a session; parts of a message. Beyond, they are not recorded. */
const [maxCalls, maxParts] = [10_000, 1_000];

/**
 * Records the sessions of the Claude Agent SDK: a span of an agent, with the model's messages, tools and subagents below it.
 * The program reads the same messages. Tokens and cost are those of the session's result.
 * @example const query = wrapQuery(sdk.query)
 */
export function wrapQuery<Query extends AnyFunction>(query: Query, { agentId }: WrapOptions = {}): Query {
  if (typeof query !== "function") return query;
  return new Proxy(query, {
    apply(target, self, args) {
      const session = quietly(() => openSession(loose(args[0])["prompt"], agentId));
      try {
        const result = Reflect.apply(target, self, args);
        const sink = { chunk: (message: unknown) => void quietly(() => session?.read(loose(message))) };
        const end = (error?: { thrown: unknown }) => void quietly(() => session?.end(error));
        // Its own `next` reads by this iterator too.
        const messages = quietly(() => (result as AsyncIterable<unknown>)[Symbol.asyncIterator]());
        tap(messages ?? result, { ...sink, end, within: (step) => step() });
        return result;
      } catch (thrown) {
        session?.end({ thrown });
        throw thrown;
      }
    },
  });
}

function openSession(prompt: unknown, agentId: string | undefined) {
  const begun = currentOrNew(agentId, "Claude agent", "claude-agent");
  if (!begun) return undefined;
  const input = typeof prompt === "string" ? prompt : undefined;
  const root = begun.tracing.span("Claude agent", { kind: "agent", provider: "anthropic", input });
  const calls = new Map<string, SpanHandle>();
  const conversations = new Map<string, Conversation>();
  let result: EndOptions | undefined;

  function conversationOf(id: string, asked?: unknown): Conversation {
    const known = conversations.get(id) ?? { message: undefined, asked, askedAt: new Date() };
    conversations.set(id, known);
    return known;
  }
  conversationOf("", input);

  function sendMessage(id: string): void {
    const { message } = conversationOf(id);
    if (!message) return;
    conversationOf(id).message = undefined;
    const { model, startedAt, reason, content } = message;
    const facts = { kind: "model", provider: "anthropic", model, input: message.input, startedAt } as const;
    const attributes = { "gen_ai.operation.name": "chat", ...(message.id && { "gen_ai.response.id": message.id }) };
    const span = (calls.get(id) ?? root).span(`chat ${model ?? ""}`.trim(), { ...facts, attributes });
    const finish = reason ? { attributes: { "gen_ai.response.finish_reasons": [reason] } } : {};
    span.end({ output: { role: "assistant", content }, ...finish });
  }
  function readAnswer(id: string, told: Loose): void {
    const conversation = conversationOf(id);
    const messageId = textOf(told["id"]);
    if (conversation.message && conversation.message.id !== messageId) sendMessage(id);
    const fresh = { id: messageId, startedAt: conversation.askedAt, input: conversation.asked, content: [] };
    conversation.message ??= { ...fresh, model: undefined, reason: undefined };
    const { message } = conversation;
    message.model = textOf(told["model"]) ?? message.model;
    message.reason = textOf(told["stop_reason"]) ?? message.reason;
    for (const part of partsOf(told["content"])) {
      if (message.content.length < maxParts) message.content.push(part);
      const { type, id: callId, name, input: given } = part;
      const key = textOf(callId);
      if (!/tool_use$/.test(textOf(type) ?? "") || !key || calls.size >= maxCalls) continue;
      calls.set(key, (calls.get(id) ?? root).span(textOf(name) ?? "tool", { kind: "tool", input: given }));
    }
  }
  function readAsked(id: string, { content }: Loose): void {
    sendMessage(id);
    Object.assign(conversationOf(id), { asked: content, askedAt: new Date() });
    for (const { tool_use_id, content: output, is_error } of partsOf(content)) {
      const callId = textOf(tool_use_id) ?? "";
      if (conversations.has(callId)) sendMessage(callId);
      calls.get(callId)?.end({ output, ...(is_error === true && { error: textOf(output) ?? "the tool failed" }) });
    }
  }
  function readResult({ subtype, is_error, result: answer, errors, usage, total_cost_usd, modelUsage }: Loose): void {
    const [model] = Object.entries(loose(modelUsage)).toSorted(([, a], [, b]) => costOf(b) - costOf(a))[0] ?? [];
    const said = Array.isArray(errors) ? errors.map(String).join("\n") : textOf(answer);
    const failure = is_error === true ? { error: said || (textOf(subtype) ?? "failed") } : {};
    const counts = { ...usageOf(loose(usage)), costUsd: countOf(total_cost_usd) };
    result = { output: answer, model, usage: counts, ...failure };
  }
  return {
    read(message: Loose): void {
      const { type, subtype, session_id, parent_tool_use_id, message: told } = message;
      const id = textOf(parent_tool_use_id) ?? "";
      if (type === "assistant") readAnswer(id, loose(told));
      else if (type === "user") readAsked(id, loose(told));
      else if (type === "result") readResult(message);
      else if (type === "system" && subtype === "init")
        root.set({ attributes: { "gen_ai.conversation.id": session_id, "gen_ai.agent.tools": message["tools"] } });
    },
    end(error?: { thrown: unknown }): void {
      for (const id of conversations.keys()) sendMessage(id);
      for (const call of calls.values()) call.end({ attributes: { "gen_ai.response.finish_reasons": ["aborted"] } });
      const left = { attributes: { "gen_ai.response.finish_reasons": ["aborted"] } };
      const thrown = error && { error: error.thrown ?? "cut" };
      root.end({ ...(result ?? left), ...thrown });
      begun.end(thrown !== undefined || result?.error !== undefined);
    },
  };
}

const costOf = (usage: unknown) => countOf(loose(usage)["costUSD"]) ?? 0;

const partsOf = (content: unknown): Loose[] => (Array.isArray(content) ? content.map(loose) : []);

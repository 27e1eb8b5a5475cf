import type { SpanKind } from "../api-types.js";
import type { SpanOptions } from "../span-handle.js";
import { type Loose, loose, quietly, textOf, toFacts, type WrapOptions } from "./model-call.js";
import { readChat, readResponse } from "./openai.js";
import { createSpanTree } from "./span-tree.js";

/** Kinds of the library's types of spans; the others are steps of a chain. */
const kinds: Readonly<Record<string, SpanKind>> = {
  agent: "agent",
  handoff: "agent",
  function: "tool",
  mcp_tools: "tool",
  generation: "model",
  response: "model",
  transcription: "model",
  speech: "model",
  guardrail: "evaluation",
};

/**
 * A tracing processor of OpenAI Agents: runs become traces, with their agents, models, tools, handoffs and guardrails.
 * @example addTraceProcessor(waymarkProcessor())
 */
export function waymarkProcessor({ agentId }: WrapOptions = {}) {
  const tree = createSpanTree(agentId);
  const told = async (work: () => void): Promise<void> => quietly(work);
  return {
    onTraceStart: (trace: unknown) =>
      told(() => {
        const { traceId, name, groupId, metadata } = loose(trace);
        const attributes = { ...loose(metadata), ...(textOf(groupId) && { "gen_ai.conversation.id": groupId }) };
        tree.start(idOf(traceId), undefined, textOf(name) || "Agent workflow", { kind: "agent", attributes });
      }),
    onTraceEnd: (trace: unknown) => told(() => tree.end(idOf(loose(trace)["traceId"]))),
    onSpanStart: (span: unknown) =>
      told(() => {
        const { spanId, parentId, traceId, spanData } = loose(span);
        const data = () => loose(spanData);
        const parent = idOf(parentId ?? traceId);
        tree.plan(
          idOf(spanId),
          parent,
          () => nameOf(data()),
          () => optionsOf(data()),
        );
      }),
    onSpanEnd: (span: unknown) =>
      told(() => {
        const { spanId, traceId, spanData, error } = loose(span);
        const { type, output } = loose(spanData);
        const answer = answerOf(loose(spanData)) ?? { output: parsed(output) };
        const { message, data } = loose(error);
        const details = textOf(loose(data)["error"]) ?? "";
        const failure = error ? { error: [textOf(message) ?? "failed", details].filter(Boolean).join(": ") } : {};
        tree.end(idOf(spanId), { ...answer, ...failure });
        // The run answers what its last model did.
        if (kinds[textOf(type) ?? ""] === "model") tree.set(idOf(traceId), { output: answer.output });
      }),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
}

const idOf = (id: unknown): string => textOf(id) ?? "";

function nameOf({ type, name, to_agent, agent_name, model, _response }: Loose): string {
  const kind = textOf(type) ?? "span";
  if (kinds[kind] === "model") return `chat ${textOf(model) ?? textOf(loose(_response)["model"]) ?? ""}`.trim();
  const own = textOf(name) ?? textOf(to_agent) ?? textOf(agent_name);
  return kind === "handoff" || kind === "turn" ? `${kind} ${own ?? ""}`.trim() : (own ?? kind);
}

function optionsOf(data: Loose): SpanOptions {
  const { type, input, _input, _response, model, model_config, data: custom, tools, handoffs } = data;
  const kind = kinds[textOf(type) ?? ""] ?? "chain";
  const isModel = kind === "model";
  const asked = textOf(model) ?? textOf(loose(_response)["model"]);
  const attributes = Object.fromEntries(
    Object.entries({ model_config, tools, handoffs, triggered: data["triggered"] }).filter(
      ([, value]) => value != null,
    ),
  );
  const facts = isModel ? { model: asked, provider: "openai" } : {};
  const operation = isModel && { "gen_ai.operation.name": "chat" };
  return { kind, input: parsed(input ?? _input ?? custom), ...facts, attributes: { ...attributes, ...operation } };
}

/** Of a call of a model, in the form of its API. */
function answerOf({ type, output, usage, _response }: Loose) {
  if (type === "response") return toFacts(readResponse(_response));
  if (type !== "generation") return undefined;
  const [response] = Array.isArray(output) ? output : [];
  const { usage: own, ...answer } = readChat(response);
  const { usage: told } = readResponse({ usage });
  return toFacts({ ...answer, usage: Object.values(own ?? {}).some((count) => count !== undefined) ? own : told });
}

/** Arguments and results of tools are JSON in a text. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || value.length > 1_000_000) return value;
  return quietly(() => JSON.parse(value)) ?? value;
}

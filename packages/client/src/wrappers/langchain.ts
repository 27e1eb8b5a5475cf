import type { SpanKind } from "../api-types.js";
import { countOf, loose, textOf, type WrapOptions } from "./model-call.js";
import { createSpanTree } from "./span-tree.js";

/**
 * A callback handler of LangChain and LangGraph: chains, models, tools and retrievers become spans.
 * @example chain.invoke(input, { callbacks: [waymarkHandler()] })
 */
export function waymarkHandler({ agentId }: WrapOptions = {}) {
  const tree = createSpanTree(agentId);

  function start(
    kind: SpanKind,
    [serialized, input, runId, parentId]: Started,
    facts: { name?: unknown; more?: object },
  ): void {
    const name = textOf(facts.name) ?? nameOf(serialized) ?? kind;
    tree.start(runId, parentId, name, { kind, input, ...facts.more });
  }
  const fail = (error: unknown, runId: string) => tree.end(runId, { error: error ?? "failed" });
  const finish = (output: unknown, runId: string) => tree.end(runId, { output });
  const startModel = (
    ...given: [unknown, unknown, string, (string | undefined)?, unknown?, unknown?, unknown?, unknown?]
  ) => {
    const [serialized, messages, runId, parentId, extra, , metadata, name] = given;
    const { ls_provider, ls_model_name } = loose(metadata);
    const asked = loose(loose(extra)["invocation_params"]);
    const model = textOf(ls_model_name) ?? textOf(asked["model"]) ?? textOf(asked["model_name"]);
    const [first] = Array.isArray(messages) ? messages : [];
    const input = Array.isArray(first) ? first.map(messageOf) : messages;
    const attributes = { "gen_ai.operation.name": "chat" };
    const more = { model, provider: textOf(ls_provider), attributes };
    start("model", [serialized, input, runId, parentId], { name, more });
  };
  return {
    name: "waymark",
    handleLLMStart: startModel,
    handleChatModelStart: startModel,
    handleLLMNewToken: (_token: string, _index: unknown, runId: string) => tree.part(runId),
    handleLLMEnd: (output: unknown, runId: string) => tree.end(runId, answerOf(output)),
    handleLLMError: fail,
    handleChainStart(...[serialized, input, runId, parentId, , , , name]: Eight): void {
      start("chain", [serialized, input, runId, parentId], { name });
    },
    handleChainEnd: finish,
    handleChainError: fail,
    handleToolStart(...[serialized, input, runId, parentId, , , name]: Seven): void {
      start("tool", [serialized, input, runId, parentId], { name });
    },
    handleToolEnd: finish,
    handleToolError: fail,
    handleRetrieverStart(...[serialized, query, runId, parentId, , , name]: Seven): void {
      start("retrieval", [serialized, query, runId, parentId], { name });
    },
    handleRetrieverEnd: finish,
    handleRetrieverError: fail,
  };
}

type Started = [serialized: unknown, input: unknown, runId: string, parentId?: string | undefined];
type Seven = [...Started, unknown?, unknown?, unknown?];
type Eight = [...Seven, unknown?];

function nameOf(serialized: unknown): string | undefined {
  const { name, id } = loose(serialized);
  return textOf(name) ?? (Array.isArray(id) ? textOf(id.at(-1)) : undefined);
}

/** A message without the form of its serialized class. */
function messageOf(message: unknown): unknown {
  const { content, tool_calls, tool_call_id, getType } = loose(message);
  const type = typeof getType === "function" ? (getType as () => unknown).call(message) : undefined;
  if (type === undefined) return message;
  const hasCalls = Array.isArray(tool_calls) && tool_calls.length > 0;
  return { role: type, content, ...(hasCalls && { tool_calls }), ...(tool_call_id !== undefined && { tool_call_id }) };
}

function answerOf(output: unknown) {
  const [first] = (loose(output)["generations"] as unknown as unknown[][]) ?? [];
  const { message, text } = loose(first?.[0]);
  const { usage_metadata, response_metadata } = loose(message);
  const { input_tokens, output_tokens, input_token_details, output_token_details } = loose(usage_metadata);
  const told = loose(response_metadata);
  return {
    output: message === undefined ? text : messageOf(message),
    model: textOf(told["model_name"]) ?? textOf(told["model"]),
    usage: {
      inputTokens: countOf(input_tokens),
      outputTokens: countOf(output_tokens),
      cachedInputTokens: countOf(loose(input_token_details)["cache_read"]),
      cacheWriteTokens: countOf(loose(input_token_details)["cache_creation"]),
      reasoningTokens: countOf(loose(output_token_details)["reasoning"]),
    },
  };
}

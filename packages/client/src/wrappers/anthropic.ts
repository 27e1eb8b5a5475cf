import type { TokenUsage } from "../span-attributes.js";
import {
  type Assembly,
  append,
  countOf,
  type Loose,
  loose,
  type ModelAnswer,
  type ModelCall,
  recordMethod,
  requestAttributes,
  textOf,
  type WrapOptions,
} from "./model-call.js";

/**
 * Records the calls of an Anthropic client: `messages.create` and `messages.stream`, and those of `beta`.
 * @returns the same client
 */
export function wrapAnthropic<Client>(client: Client, options?: WrapOptions): Client {
  const { messages, beta } = loose(client);
  const reading = { read: readMessage, assemble };
  for (const resource of [messages, loose(beta)["messages"]])
    recordMethod(resource, "create", describe, reading, options);
  return client;
}

function describe(body: Loose): ModelCall {
  const attributes = requestAttributes(body, ["temperature", "top_p", "top_k", "max_tokens"], "system");
  const { model, messages: input } = body;
  return { operation: "chat", provider: "anthropic", model: textOf(model), input, attributes };
}

/** Anthropic counts cached tokens beside the input; Waymark counts them in it. */
export function usageOf(usage: Loose): TokenUsage {
  const [cached, written] = [countOf(usage["cache_read_input_tokens"]), countOf(usage["cache_creation_input_tokens"])];
  const fresh = countOf(usage["input_tokens"]);
  return {
    inputTokens: fresh === undefined ? undefined : fresh + (cached ?? 0) + (written ?? 0),
    outputTokens: countOf(usage["output_tokens"]),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
  };
}

function readMessage(result: unknown): ModelAnswer {
  const { id, model, role, content, stop_reason, usage } = loose(result);
  const reason = textOf(stop_reason);
  const known = { model: textOf(model), id: textOf(id), usage: usageOf(loose(usage)) };
  return { ...known, output: { role, content }, finishReasons: reason ? [reason] : [] };
}

const deltaNames = { text_delta: "text", thinking_delta: "thinking", input_json_delta: "partial_json" } as const;
const maxBlocks = 1_000;

function assemble(): Assembly {
  let [message, usage, reason]: [Loose, Loose, string | undefined] = [{}, {}, undefined];
  const blocks: Record<string, unknown>[] = [];
  const add = (part: unknown) => {
    const event = loose(part);
    if (event["type"] === "message_start") message = loose(event["message"]);
    usage = { ...usage, ...loose(loose(event["message"])["usage"]), ...loose(event["usage"]) } as Loose;
    const index = countOf(event["index"]) ?? 0;
    if (event["type"] === "content_block_start" && index < maxBlocks)
      blocks[index] = { ...loose(event["content_block"]) };
    const [block, delta] = [blocks[index], loose(event["delta"])];
    const name = deltaNames[delta["type"] as unknown as keyof typeof deltaNames];
    if (block && name) block[name] = append(block[name], textOf(delta[name]) ?? "");
    if (event["type"] === "content_block_stop" && block) finishInput(block);
    reason = textOf(delta["stop_reason"]) ?? reason;
  };
  const answer = (): ModelAnswer => ({
    ...readMessage({ ...message, content: blocks, usage }),
    finishReasons: reason ? [reason] : [],
  });
  return { add, answer };
}

/** The arguments of a tool arrive as JSON in parts. */
function finishInput(block: Record<string, unknown>): void {
  const { partial_json: text } = block;
  if (typeof text !== "string") return;
  try {
    block["input"] = JSON.parse(text || "{}");
    delete block["partial_json"];
  } catch {
    // Cut: the part stays as it came.
  }
}

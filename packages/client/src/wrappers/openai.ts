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
 * Records the calls of an OpenAI client, or of one of the same form: `chat.completions`, `responses` and `embeddings`, streams
 * included.
 * @returns the same client
 */
export function wrapOpenAI<Client>(client: Client, options?: WrapOptions): Client {
  const { chat, responses, embeddings } = loose(client);
  const chatReading = { read: readChat, assemble: assembleChat };
  recordMethod(loose(chat)["completions"], "create", describer("chat", "messages"), chatReading, options);
  const responseReading = { read: readResponse, assemble: assembleResponse };
  recordMethod(responses, "create", describer("chat", "input"), responseReading, options);
  const embeddingReading = { read: readEmbeddings, assemble: assembleChat };
  recordMethod(embeddings, "create", describer("embeddings", "input"), embeddingReading, options);
  return client;
}

function describer(operation: string, inputName: string): (body: Loose) => ModelCall {
  return (body) => {
    const attributes = requestAttributes(body, ["temperature", "top_p", "max_tokens"], "instructions");
    return { operation, provider: "openai", model: textOf(body["model"]), input: body[inputName], attributes };
  };
}

function usageOf(given: unknown): TokenUsage {
  const usage = loose(given);
  const input = loose(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
  const output = loose(usage["completion_tokens_details"] ?? usage["output_tokens_details"]);
  return {
    inputTokens: countOf(usage["prompt_tokens"] ?? usage["input_tokens"]),
    outputTokens: countOf(usage["completion_tokens"] ?? usage["output_tokens"]),
    cachedInputTokens: countOf(input["cached_tokens"]),
    reasoningTokens: countOf(output["reasoning_tokens"]),
  };
}

const listOf = (value: unknown): Loose[] => (Array.isArray(value) ? value.map(loose) : []);

export function readChat(result: unknown): ModelAnswer {
  const { id, model, usage, choices } = loose(result);
  const messages = listOf(choices).map(({ message }) => message);
  const finishReasons = listOf(choices).flatMap(({ finish_reason }) => textOf(finish_reason) ?? []);
  const output = messages.length === 1 ? messages[0] : messages;
  return { output, model: textOf(model), id: textOf(id), usage: usageOf(usage), finishReasons };
}

interface Message {
  role: string;
  content: string | null;
  refusal?: string;
  tool_calls?: ToolCall[];
}

interface ToolCall {
  id?: string | undefined;
  type: string;
  function: { name: string; arguments: string };
}

function assembleChat(): Assembly {
  const messages: Message[] = [];
  const reasons: string[] = [];
  let known: Loose = {};
  const add = (part: unknown) => {
    const chunk = loose(part);
    known = { ...known, ...Object.fromEntries(Object.entries(chunk).filter(([, value]) => value != null)) } as Loose;
    for (const { index, delta, finish_reason } of listOf(chunk["choices"])) {
      const at = Math.min(countOf(index) ?? 0, 127);
      const message = messages[at] ?? { role: "assistant", content: null };
      messages[at] = message;
      addDelta(message, loose(delta));
      const reason = textOf(finish_reason);
      if (reason) reasons.push(reason);
    }
  };
  const answer = (): ModelAnswer => ({
    output: messages.length > 1 ? messages : messages[0],
    model: textOf(known["model"]),
    id: textOf(known["id"]),
    usage: usageOf(known["usage"]),
    finishReasons: reasons,
  });
  return { add, answer };
}

function addDelta(message: Message, delta: Loose): void {
  const [content, refusal] = [textOf(delta["content"]), textOf(delta["refusal"])];
  if (content !== undefined) message.content = append(message.content, content);
  if (refusal !== undefined) message.refusal = append(message.refusal, refusal);
  for (const { index, id, function: called } of listOf(delta["tool_calls"])) {
    message.tool_calls ??= [];
    const at = Math.min(countOf(index) ?? 0, 127);
    const call: ToolCall = message.tool_calls[at] ?? { type: "function", function: { name: "", arguments: "" } };
    message.tool_calls[at] = call;
    if (textOf(id)) call.id = textOf(id);
    call.function.name = append(call.function.name, textOf(loose(called)["name"]) ?? "");
    call.function.arguments = append(call.function.arguments, textOf(loose(called)["arguments"]) ?? "");
  }
}

export function readResponse(result: unknown): ModelAnswer {
  const { id, model, usage, output, status, incomplete_details } = loose(result);
  const reason = textOf(loose(incomplete_details)["reason"]) ?? textOf(status);
  return { output, model: textOf(model), id: textOf(id), usage: usageOf(usage), finishReasons: reason ? [reason] : [] };
}

/** The last events carry the whole response; before, its texts and calls so far. */
function assembleResponse(): Assembly {
  let [response, isWhole]: [unknown, boolean] = [undefined, false];
  const texts = new Map<string, string>();
  const add = (part: unknown) => {
    const { type, response: told, item_id, output_index, delta } = loose(part);
    if (told !== undefined) response = told;
    if (/\.(?:completed|incomplete|failed)$/.test(textOf(type) ?? "") && told !== undefined) isWhole = true;
    const text = textOf(delta);
    const key = `${textOf(item_id) ?? countOf(output_index) ?? ""}`;
    if (text !== undefined && texts.size < 128) texts.set(key, append(texts.get(key), text));
  };
  const answer = (): ModelAnswer => {
    const { output, finishReasons, ...known } = readResponse(response);
    if (isWhole) return { ...known, output, finishReasons };
    return { ...known, output: texts.size > 1 ? [...texts.values()] : [...texts.values()][0] };
  };
  return { add, answer };
}

function readEmbeddings(result: unknown): ModelAnswer {
  const { model, usage, data } = loose(result);
  const vectors = listOf(data);
  const embedding = vectors[0]?.["embedding"];
  const output = { embeddings: vectors.length, ...(Array.isArray(embedding) && { dimensions: embedding.length }) };
  return { output, model: textOf(model), usage: usageOf(usage) };
}

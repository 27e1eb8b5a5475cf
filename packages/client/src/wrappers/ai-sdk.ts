import {
  type Assembly,
  append,
  countOf,
  loose,
  type ModelAnswer,
  openModelCall,
  textOf,
  type WrapOptions,
} from "./model-call.js";

interface Generation {
  params: unknown;
  model: unknown;
}

/**
 * A middleware for `wrapLanguageModel` of the AI SDK, versions 5 to 7: it records each call of the model.
 * @example wrapLanguageModel({ model: openai("gpt-4o"), middleware: waymarkMiddleware() })
 */
export function waymarkMiddleware(options?: WrapOptions) {
  return {
    async wrapGenerate<Result>(given: Generation & { doGenerate(): PromiseLike<Result> }): Promise<Result> {
      const call = openModelCall(describe(given), options);
      try {
        return call.finish(await given.doGenerate(), readResult, assemble);
      } catch (thrown) {
        call.fail(thrown);
        throw thrown;
      }
    },
    async wrapStream<Result>(given: Generation & { doStream(): PromiseLike<Result> }): Promise<Result> {
      const call = openModelCall(describe(given), options);
      try {
        const result = await given.doStream();
        const { stream } = result as { stream: ReadableStream<unknown> };
        return { ...result, stream: call.finish(stream, readResult, assemble) };
      } catch (thrown) {
        call.fail(thrown);
        throw thrown;
      }
    },
  };
}

function describe({ params, model }: Generation) {
  const { prompt, tools, temperature, maxOutputTokens } = loose(params);
  const { modelId, provider } = loose(model);
  const attributes: Record<string, unknown> = {};
  if (temperature !== undefined) attributes["gen_ai.request.temperature"] = temperature;
  if (maxOutputTokens !== undefined) attributes["gen_ai.request.max_tokens"] = maxOutputTokens;
  if (tools) attributes["gen_ai.tool.definitions"] = tools;
  const name = textOf(provider)?.split(".")[0] ?? "unknown";
  return { operation: "chat", provider: name, model: textOf(modelId), input: prompt, attributes };
}

/** Of version 5 numbers, later objects with a total. */
function usageOf(given: unknown) {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = loose(given);
  const [input, output] = [loose(inputTokens), loose(outputTokens)];
  return {
    inputTokens: countOf(inputTokens) ?? countOf(input["total"]),
    outputTokens: countOf(outputTokens) ?? countOf(output["total"]),
    cachedInputTokens: countOf(cachedInputTokens) ?? countOf(input["cacheRead"]),
    cacheWriteTokens: countOf(input["cacheWrite"]),
    reasoningTokens: countOf(reasoningTokens) ?? countOf(output["reasoning"]),
  };
}

function readResult(result: unknown): ModelAnswer {
  const { content, usage, finishReason, response } = loose(result);
  const { id, modelId } = loose(response);
  const reason = textOf(finishReason) ?? textOf(loose(finishReason)["unified"]);
  const known = { model: textOf(modelId), id: textOf(id), usage: usageOf(usage) };
  return { ...known, output: content, finishReasons: reason ? [reason] : [] };
}

function assemble(): Assembly {
  const content: Record<string, unknown>[] = [];
  let [finish, response]: [unknown, unknown] = [undefined, undefined];
  const add = (part: unknown) => {
    const { type, delta, ...rest } = loose(part);
    const kind = textOf(type) ?? "";
    const last = content.at(-1);
    if (kind === "text-delta" || kind === "reasoning-delta") {
      const name = kind.slice(0, -"-delta".length);
      const text = textOf(delta) ?? "";
      if (last?.["type"] === name) last["text"] = append(last["text"], text);
      else content.push({ type: name, text });
    } else if (kind === "tool-call" || kind === "tool-result" || kind === "source")
      content.push({ type: kind, ...rest });
    else if (kind === "response-metadata") response = part;
    else if (kind === "finish") finish = part;
    else if (kind === "error") content.push({ type: kind, error: rest["error"] });
  };
  return { add, answer: () => readResult({ ...loose(finish), content, response }) };
}

import { currentOrNew } from "../observe.js";
import type { SpanFacts, TokenUsage } from "../span-attributes.js";
import type { SpanHandle } from "../span-handle.js";
import { tap } from "../tap.js";

export interface WrapOptions {
  /** The agent of calls outside a trace; default the client's, else the name of the provider. */
  agentId?: string | undefined;
}

/** A request to a model, as all wrappers tell it. */
export interface ModelCall {
  /** By OpenTelemetry: `chat`, `embeddings`, `text_completion`. */
  operation: string;
  provider: string;
  model: string | undefined;
  input: unknown;
  attributes?: Readonly<Record<string, unknown>>;
}

export interface ModelAnswer {
  output: unknown;
  model?: string | undefined;
  usage?: TokenUsage | undefined;
  id?: string | undefined;
  finishReasons?: readonly string[] | undefined;
}

/** Puts an answer together of the parts of a stream. */
export interface Assembly {
  add(part: unknown): void;
  answer(): ModelAnswer;
}

export interface OpenCall {
  /** The answer, or its stream in a form that the program reads as before. */
  finish<Result>(result: Result, read: (result: Result) => ModelAnswer, assemble: () => Assembly): Result;
  /** The first part of an answer arrived. */
  firstPart(): void;
  answer(answer: ModelAnswer): void;
  fail(thrown: unknown): void;
}

/** Records a call of a model as a span below the current one, else as a trace of its own. Never throws. */
export function openModelCall(call: ModelCall, { agentId }: WrapOptions = {}): OpenCall {
  const startedAt = performance.now();
  const name = `${call.operation} ${call.model ?? ""}`.trim();
  const opened = currentOrNew(agentId, name, call.provider);
  const attributes = { ...call.attributes, "gen_ai.operation.name": call.operation };
  const { provider, model, input } = call;
  const span: SpanHandle | undefined = opened?.tracing.span(name, {
    kind: "model",
    provider,
    model,
    input,
    attributes,
  });
  let hasPart = false;

  function end(values: SpanFacts & { output?: unknown; error?: unknown }, isFailed: boolean): void {
    span?.end({ ...values, ...(isFailed && { status: "error" as const }) });
    opened?.end(isFailed);
  }
  const open: OpenCall = {
    firstPart() {
      if (hasPart) return;
      hasPart = true;
      const seconds = Math.round(performance.now() - startedAt) / 1_000;
      span?.set({ attributes: { "gen_ai.response.time_to_first_chunk": seconds } });
    },
    answer: (answer) => end(toFacts(answer), false),
    fail: (thrown) => end({ error: thrown ?? String(thrown) }, true),
    finish(result, read, assemble) {
      const assembly = assemble();
      const tapped = tap(result, {
        chunk(part) {
          open.firstPart();
          quietly(() => assembly.add(part));
        },
        end(error) {
          const answer = quietly(() => assembly.answer()) ?? { output: undefined };
          // A stream that was left has no reason of its own.
          if (!error && !answer.finishReasons?.length) answer.finishReasons = ["aborted"];
          span?.set(toFacts(answer));
          end(error ? { error: error.thrown ?? "cut" } : {}, error !== undefined);
        },
        within: (step) => step(),
      });
      if (tapped !== undefined) return tapped as typeof result;
      open.answer(quietly(() => read(result)) ?? { output: result });
      return result;
    },
  };
  return open;
}

export function toFacts({ output, model, usage, id, finishReasons }: ModelAnswer): SpanFacts & { output: unknown } {
  const attributes: Record<string, unknown> = {};
  if (id) attributes["gen_ai.response.id"] = id;
  if (finishReasons?.length) attributes["gen_ai.response.finish_reasons"] = finishReasons;
  return { output, model, usage, attributes };
}

/** An answer in another form than expected is recorded less, and never disturbs the program. */
export function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Values as the libraries type them: what is missing is undefined. */
export type Loose = Readonly<Record<string, unknown>>;

export function loose(value: unknown): Loose {
  return (typeof value === "object" && value !== null ? value : {}) as Loose;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Of a text that arrives in parts; what is recorded of a value is cut at as much. */
const maxText = 1_000_000;

/** A text and its next part, up to {@link maxText}. */
export function append(text: unknown, part: string): string {
  const present = textOf(text) ?? "";
  return present.length < maxText ? present + part : present;
}

/** What all requests tell of themselves: sampling by the library's names, tools, and the system's prompt. */
export function requestAttributes(body: Loose, names: readonly string[], system: string): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  for (const name of names) if (body[name] !== undefined) attributes[`gen_ai.request.${name}`] = body[name];
  if (body["tools"]) attributes["gen_ai.tool.definitions"] = body["tools"];
  if (body[system]) attributes["gen_ai.system_instructions"] = body[system];
  return attributes;
}

export function countOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

type Method = (...args: unknown[]) => unknown;

interface LazyPromise {
  responsePromise: Promise<unknown>;
  parseResponse(...args: unknown[]): Promise<unknown>;
}

const wrapped = new WeakSet<object>();

/**
 * Records the calls of a method of a client that answers with the lazy promises of the OpenAI and Anthropic libraries, whose
 * further methods (`withResponse`, `asResponse`) stay.
 */
export function recordMethod(
  resource: unknown,
  name: string,
  describe: (body: Loose) => ModelCall,
  reading: { read(result: unknown): ModelAnswer; assemble(): Assembly },
  options: WrapOptions | undefined,
): void {
  if (typeof resource !== "object" || resource === null) return;
  const original = (resource as Record<string, unknown>)[name];
  if (typeof original !== "function" || wrapped.has(original)) return;
  const recorded: Method = (...args) => {
    const call = quietly(() => openModelCall(describe(loose(args[0])), options));
    const result = start(() => (original as Method).apply(resource, args), call);
    if (!call || !isLazy(result)) return result;
    const { parseResponse } = result;
    let parsed: Promise<unknown> | undefined;
    result.parseResponse = (...parts) => {
      parsed ??= parseResponse.apply(result, parts).then(
        (value) => call.finish(value, reading.read, reading.assemble),
        (thrown: unknown) => {
          call.fail(thrown);
          throw thrown;
        },
      );
      return parsed;
    };
    result.responsePromise.then(undefined, call.fail);
    return result;
  };
  wrapped.add(recorded);
  Object.defineProperty(resource, name, { value: recorded, configurable: true, writable: true });
}

function start<T>(work: () => T, call: OpenCall | undefined): T {
  try {
    return work();
  } catch (thrown) {
    call?.fail(thrown);
    throw thrown;
  }
}

function isLazy(value: unknown): value is LazyPromise {
  const { responsePromise, parseResponse } = loose(value) as unknown as Partial<LazyPromise>;
  return responsePromise instanceof Promise && typeof parseResponse === "function";
}

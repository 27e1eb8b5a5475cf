import { toJsonText } from "./values.js";

/** What is told of a stream while the program reads it. */
export interface StreamSink {
  chunk(value: unknown): void;
  /** Once: at its end, or when the program stops reading, or with its error. */
  end(error?: { thrown: unknown }): void;
  /** Runs each step of a generator. */
  within<T>(step: () => T): T;
}

type Result = IteratorResult<unknown>;
type Step = (...args: unknown[]) => Result | Promise<Result>;
type Iterating = Partial<Record<"next" | "return" | "throw" | "iterator" | typeof Symbol.asyncIterator, unknown>>;

/**
 * Listens to a stream, response, generator or iterator that a function returned.
 * @returns what the program shall read in its place, mostly the same object; undefined for any other value
 */
export function tap(value: unknown, sink: StreamSink): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const quiet = harmless(sink);
  try {
    if (typeof Response !== "undefined" && value instanceof Response) return tapResponse(value, quiet);
    if (typeof ReadableStream !== "undefined" && value instanceof ReadableStream) return tapStream(value, quiet);
    if (isEmitter(value)) return tapEmitter(value, quiet);
    const iterating = value as Iterating;
    if (typeof iterating.next === "function") return tapIterator(iterating, quiet);
    if (typeof iterating[Symbol.asyncIterator] === "function") return tapIterable(iterating, quiet);
  } catch {
    // Frozen, or of an unknown make: recorded as a value.
  }
  return undefined;
}

function harmless(sink: StreamSink): StreamSink {
  let isOver = false;
  return {
    chunk(value) {
      if (!isOver) sink.chunk(value);
    },
    end(error) {
      if (isOver) return;
      isOver = true;
      sink.end(error);
    },
    within: sink.within,
  };
}

function replace(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
}

function tapIterator(iterator: Iterating, sink: StreamSink): object {
  const seen = (result: Result): Result => {
    if (result.done) sink.end();
    else sink.chunk(result.value);
    return result;
  };
  const fail = (thrown: unknown): never => {
    sink.end({ thrown });
    throw thrown;
  };
  for (const name of ["next", "return", "throw"] as const) {
    const original = iterator[name];
    if (typeof original !== "function") continue;
    const step: Step = (...args) => {
      try {
        const result = sink.within(() => (original as Step).apply(iterator, args));
        return "then" in result ? result.then(seen, fail) : seen(result);
      } catch (thrown) {
        return fail(thrown);
      }
    };
    replace(iterator, name, step);
  }
  return iterator;
}

/** Such as the streams of the libraries of OpenAI and Anthropic, whose other methods all read by `iterator`. */
function tapIterable(iterable: Iterating, sink: StreamSink): object {
  const name = typeof iterable.iterator === "function" ? "iterator" : Symbol.asyncIterator;
  const original = iterable[name] as (...args: unknown[]) => Iterating;
  replace(iterable, name, (...args: unknown[]) => tapIterator(original.apply(iterable, args), sink));
  return iterable;
}

type Emitter = { emit(event: string, ...values: unknown[]): boolean };

function isEmitter(value: object): value is Emitter {
  const { pipe, emit, read } = value as Record<string, unknown>;
  return typeof pipe === "function" && typeof emit === "function" && typeof read === "function";
}

/** A stream of Node emits what is read of it, in both of its modes. A listener would start it. */
function tapEmitter(stream: Emitter, sink: StreamSink): object {
  const { emit } = stream;
  replace(stream, "emit", (event: string, ...values: unknown[]) => {
    if (event === "data") sink.chunk(values[0]);
    else if (event === "error") sink.end({ thrown: values[0] });
    else if (event === "end" || event === "close") sink.end();
    return emit.call(stream, event, ...values);
  });
  return stream;
}

/** Reads a chunk when the program reads one, never ahead. */
function tapStream(stream: ReadableStream<unknown>, sink: StreamSink): ReadableStream<unknown> {
  const isOfBytes = canReadBytes(stream);
  const reader = stream.getReader();
  const source = {
    async pull(controller: ReadableStreamDefaultController<unknown>): Promise<void> {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          // A waiting request for bytes has to be answered after the close.
          (controller as unknown as ReadableByteStreamController).byobRequest?.respond(0);
          return sink.end();
        }
        sink.chunk(value);
        controller.enqueue(value);
      } catch (thrown) {
        sink.end({ thrown });
        throw thrown;
      }
    },
    async cancel(reason: unknown): Promise<void> {
      sink.end();
      await reader.cancel(reason);
    },
  };
  if (isOfBytes) return new ReadableStream({ ...source, type: "bytes" } as unknown as typeof source);
  return new ReadableStream(source, { highWaterMark: 0 });
}

function canReadBytes(stream: ReadableStream<unknown>): boolean {
  try {
    (stream as ReadableStream<Uint8Array>).getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

function tapResponse(response: Response, sink: StreamSink): Response | undefined {
  const { body, status, statusText, headers, url, redirected, type } = response;
  if (body === null || response.bodyUsed || status < 200 || ("webSocket" in response && response.webSocket))
    return undefined;
  const tapped = new Response(tapStream(body, sink) as ReadableStream<Uint8Array>, { status, statusText, headers });
  for (const [name, value] of Object.entries({ url, redirected, type })) replace(tapped, name, value);
  return tapped;
}

const maxCollected = 500_000;

/** The chunks of a stream in bounded size: one text of texts and bytes, else a list. */
export function createCollector() {
  const texts: string[] = [];
  const values: string[] = [];
  let [size, count] = [0, 0];
  const decoder = new TextDecoder();
  return {
    add(value: unknown): void {
      count++;
      if (size >= maxCollected) return;
      const text = value instanceof Uint8Array ? decoder.decode(value, { stream: true }) : value;
      const isText = typeof text === "string";
      const part = isText ? text : (toJsonText(value) ?? "null");
      size += part.length;
      (isText ? texts : values).push(isText && values.length > 0 ? JSON.stringify(text) : part);
    },
    /** JSON. */
    all(): string | undefined {
      if (count === 0) return undefined;
      const isCut = size >= maxCollected;
      if (values.length === 0) return toJsonText(`${texts.join("")}${isCut ? `… [cut: ${count} chunks in all]` : ""}`);
      const items = [...texts.map((text) => JSON.stringify(text)), ...values];
      return `[${[...items, ...(isCut ? [JSON.stringify(`[cut: ${count} in all]`)] : [])].join(",")}]`;
    },
  };
}

/** What a header `traceparent` says (W3C Trace Context): ids in hexadecimal. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;

export function readTraceparent(text: string): RemoteSpan | undefined {
  const [, traceId, spanId] = form.exec(text.trim()) ?? [];
  return traceId && spanId ? { traceId, spanId } : undefined;
}

export function writeTraceparent({ traceId, spanId }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-01`;
}

/** Random digits of hexadecimal, never all zero. */
export function newId(bytes: 8 | 16): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  const text = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return /^0+$/.test(text) ? newId(bytes) : text;
}

interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
}

interface OtelContexts {
  active(): OtelContext;
  with<T>(context: OtelContext, work: () => T): T;
}

/** Where `@opentelemetry/api` 1.x keeps what a program has registered, for all its copies; and a context's span. */
const apiKey = Symbol.for("opentelemetry.js.api.1");
const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");

function otelContexts(): OtelContexts | undefined {
  const { context } = (Reflect.get(globalThis, apiKey) ?? {}) as { context?: OtelContexts };
  return context;
}

/** The span of OpenTelemetry that this code runs in, if the program uses it. */
export function activeOtelSpan(): RemoteSpan | undefined {
  try {
    const span = otelContexts()?.active().getValue(spanKey) as { spanContext(): RemoteSpan } | undefined;
    return span && readTraceparent(writeTraceparent(span.spanContext()));
  } catch {
    return undefined;
  }
}

/** Runs a function in a span that OpenTelemetry's instrumentations take for their parent. */
export function withinOtel<T>(span: RemoteSpan | undefined, work: () => T): T {
  const contexts = span && otelContexts();
  if (!contexts) return work();
  const parent: Record<string, unknown> = {
    spanContext: () => ({ ...span, traceFlags: 1, isRemote: false }),
    isRecording: () => false,
    end: () => undefined,
    recordException: () => undefined,
  };
  for (const name of ["setAttribute", "setAttributes", "addEvent", "addLink", "addLinks", "setStatus", "updateName"])
    parent[name] = () => parent;
  return contexts.with(contexts.active().setValue(spanKey, parent), work);
}

import { randomFillSync } from "node:crypto";
import { loadOtlpMessages } from "@waymark/traces/otlp";

/** Spans of a request: near what OpenTelemetry's batch processor sends at once (512). */
export const spansPerRequest = 500;
const tracesPerRequest = 10;

const startNanos = 1_795_251_600_000_000_000n;

type AnyValue = { stringValue: string } | { intValue: string };
const attribute = (key: string, value: AnyValue) => ({ key, value });
const text = (value: unknown): AnyValue => ({
  stringValue: typeof value === "string" ? value : JSON.stringify(value),
});

const callAttributes = [
  attribute("gen_ai.operation.name", text("chat")),
  attribute("gen_ai.request.model", text("gpt-4o")),
  attribute("gen_ai.usage.input_tokens", { intValue: "61" }),
  attribute("gen_ai.usage.output_tokens", { intValue: "14" }),
  attribute(
    "gen_ai.input.messages",
    text([
      { role: "user", parts: [{ type: "text", content: 'Where is my refund for order 1042? It says "pending".' }] },
    ]),
  ),
  attribute(
    "gen_ai.output.messages",
    text([{ role: "assistant", parts: [{ type: "text", content: "Your refund was sent on Monday." }] }]),
  ),
];

/** A trace with its root span last, as exporters send it. */
function runOf(traceId: Buffer) {
  const rootId = "00000000000000ff";
  const count = spansPerRequest / tracesPerRequest;
  return Array.from({ length: count }, (_, n) => {
    const isRoot = n === count - 1;
    return {
      traceId: traceId.toString("hex"),
      spanId: isRoot ? rootId : (n + 1).toString(16).padStart(16, "0"),
      ...(!isRoot && { parentSpanId: rootId }),
      name: isRoot ? "answer ticket" : "chat gpt-4o",
      kind: isRoot ? 1 : 3,
      startTimeUnixNano: String(startNanos + BigInt(n) * 1_000_000n),
      endTimeUnixNano: String(startNanos + BigInt(n + 10) * 1_000_000n),
      attributes: isRoot ? [attribute("gen_ai.agent.name", text("support-agent"))] : callAttributes,
      status: {},
    };
  });
}

function requestOf(traceIds: readonly Buffer[]) {
  const resource = {
    attributes: [attribute("service.name", text("support")), attribute("host.name", text("worker-1"))],
  };
  const scope = { name: "bench", version: "1.0.0" };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: traceIds.flatMap(runOf) }] }] };
}

type Form = "protobuf" | "json";

/** A body, and the offset of each trace's id in it. */
interface Template {
  body: Buffer;
  places: number[][];
}

const templates = new Map<Form, Template>();

/**
 * The same traces with new ids, so every request is new to the service. The body is encoded once; only the ids in it
 * change.
 */
export function newestRuns(form: Form): Buffer {
  const { body, places } = templates.get(form) ?? makeTemplate(form);
  const next = Buffer.from(body);
  for (const offsets of places) {
    const id = written(randomFillSync(Buffer.alloc(16)), form);
    for (const offset of offsets) id.copy(next, offset);
  }
  return next;
}

function makeTemplate(form: Form): Template {
  const ids = Array.from({ length: tracesPerRequest }, () => randomFillSync(Buffer.alloc(16)));
  const request = requestOf(ids);
  const body = form === "json" ? Buffer.from(JSON.stringify(request)) : encode(request);
  const template = { body, places: ids.map((id) => placesOf(body, written(id, form))) };
  templates.set(form, template);
  return template;
}

function written(id: Buffer, form: Form): Buffer {
  return form === "json" ? Buffer.from(id.toString("hex")) : id;
}

function placesOf(body: Buffer, wanted: Buffer): number[] {
  const places: number[] = [];
  for (let at = body.indexOf(wanted); at >= 0; at = body.indexOf(wanted, at + 1)) places.push(at);
  return places;
}

function encode(run: ReturnType<typeof requestOf>): Buffer {
  const { request: type } = loadOtlpMessages("traces");
  const bytes = (hex: string | undefined) => (hex === undefined ? undefined : Buffer.from(hex, "hex"));
  const resourceSpans = run.resourceSpans.map(({ resource, scopeSpans }) => ({
    resource,
    scopeSpans: scopeSpans.map(({ scope, spans }) => ({
      scope,
      spans: spans.map((span) => ({
        ...span,
        traceId: bytes(span.traceId),
        spanId: bytes(span.spanId),
        parentSpanId: bytes(span.parentSpanId),
      })),
    })),
  }));
  return Buffer.from(type.encode(type.fromObject({ resourceSpans })).finish());
}

// An agent with spans by hand, in the current gen_ai conventions, through an official exporter: `proto`, `http` or `grpc`.
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as HttpExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { answer, getWeather, runAll } from "./weather-agent.mjs";

const Exporter = { proto: ProtoExporter, http: HttpExporter, grpc: GrpcExporter }[process.argv[2]];
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new Exporter())] });
provider.register();
const tracer = trace.getTracer("weather-agent", "1.0.0");
const openai = new OpenAI({ maxRetries: 0 });

/** Does something in a span; an error becomes the span's exception and status. */
async function inSpan(name, kind, attributes, act) {
  const span = tracer.startSpan(name, { kind, attributes });
  try {
    return await context.with(trace.setSpan(context.active(), span), () => act(span));
  } catch (error) {
    span.recordException(error);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    throw error;
  } finally {
    span.end();
  }
}

/** A message of the chat API in the form of the conventions: its parts. */
function inParts(message) {
  if (message.role === "tool") {
    const response = JSON.parse(message.content);
    return { role: "tool", parts: [{ type: "tool_call_response", id: message.tool_call_id, response }] };
  }
  const text = message.content ? [{ type: "text", content: message.content }] : [];
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }) => {
    return { type: "tool_call", id, name, arguments: JSON.parse(given) };
  });
  return { role: message.role, parts: [...text, ...calls] };
}

function chat(body) {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": body.model,
    "gen_ai.input.messages": JSON.stringify(body.messages.map(inParts)),
  };
  return inSpan(`chat ${body.model}`, SpanKind.CLIENT, attributes, async (span) => {
    const completion = await openai.chat.completions.create(body);
    const [{ message, finish_reason }] = completion.choices;
    span.setAttribute("gen_ai.response.model", completion.model);
    span.setAttribute("gen_ai.usage.input_tokens", completion.usage.prompt_tokens);
    span.setAttribute("gen_ai.usage.output_tokens", completion.usage.completion_tokens);
    span.setAttribute("gen_ai.output.messages", JSON.stringify([{ ...inParts(message), finish_reason }]));
    return completion;
  });
}

function tool(args) {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "get_weather",
    "gen_ai.tool.call.arguments": JSON.stringify(args),
  };
  return inSpan("execute_tool get_weather", SpanKind.INTERNAL, attributes, async (span) => {
    const result = await getWeather(args);
    span.setAttribute("gen_ai.tool.call.result", JSON.stringify(result));
    return result;
  });
}

await runAll(({ name, model, question }) => {
  const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather-agent" };
  return inSpan(name, SpanKind.INTERNAL, attributes, () => answer({ chat, tool, model, question }));
});
await provider.shutdown();

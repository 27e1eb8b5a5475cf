// An agent of the Vercel AI SDK with its telemetry on: `generateText` runs model and tool by itself, and with `stream`
// `streamText` does.
import { createOpenAI } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { getWeather, runAll, weatherTool } from "./weather-agent.mjs";

const resource = resourceFromAttributes({ "service.name": "weather-service" });
const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
const provider = new NodeTracerProvider({ resource, spanProcessors });
provider.register();
const openai = createOpenAI();
const { description, parameters } = weatherTool;

async function streamed(options) {
  const result = streamText({ ...options, onError: () => undefined });
  await result.consumeStream();
  return result.text;
}

const generate = process.argv[2] === "stream" ? streamed : generateText;

await runAll(({ name, model, question }) =>
  generate({
    model: openai.chat(model),
    prompt: question,
    tools: { get_weather: tool({ description, inputSchema: jsonSchema(parameters), execute: getWeather }) },
    stopWhen: stepCountIs(4),
    maxRetries: 0,
    experimental_telemetry: { isEnabled: true, functionId: name },
  }),
);
await provider.shutdown();

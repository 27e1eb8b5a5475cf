// An agent under OpenInference: the instrumentation of `openai`, and its wrappers around the agent and the tool. With
// `stream` the model's answers are streamed.
import { traceAgent, traceTool } from "@arizeai/openinference-core";
import { OpenAIInstrumentation } from "@arizeai/openinference-instrumentation-openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { answer, getWeather, runAll } from "./weather-agent.mjs";

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const instrumentation = new OpenAIInstrumentation({ tracerProvider: provider });
instrumentation.manuallyInstrument(OpenAI);
const openai = new OpenAI({ maxRetries: 0 });
const { completions } = openai.chat;
const streams = process.argv[2] === "stream";
const chat = (body) => (streams ? completions.stream(body).finalChatCompletion() : completions.create(body));
const tool = traceTool(getWeather, { name: "get_weather" });

await runAll(({ name, model, question }) => {
  const agent = (asked) => answer({ chat, tool, model, question: asked });
  return traceAgent(agent, { name, attributes: { "agent.name": "weather-agent" } })(question);
});
await provider.shutdown();

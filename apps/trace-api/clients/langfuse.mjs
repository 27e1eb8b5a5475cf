// An agent under Langfuse's SDK: observations by `@langfuse/tracing`, sent by `@langfuse/otel` through an OTLP exporter.
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { observe, startActiveObservation } from "@langfuse/tracing";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { answer, getWeather, runAll } from "./weather-agent.mjs";

const processor = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter(), mediaUploadEnabled: false });
const resource = resourceFromAttributes({ "service.name": "weather-service" });
const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
provider.register();
const openai = new OpenAI({ maxRetries: 0 });

const chat = (body) =>
  startActiveObservation(
    "chat",
    async (generation) => {
      generation.update({ model: body.model, input: body.messages });
      const completion = await openai.chat.completions.create(body);
      generation.update({
        output: completion.choices[0].message,
        usageDetails: { input: completion.usage.prompt_tokens, output: completion.usage.completion_tokens },
      });
      return completion;
    },
    { asType: "generation" },
  );
const tool = observe(getWeather, { name: "get_weather", asType: "tool" });

await runAll(({ name, model, question }) => {
  const agent = (asked) => answer({ chat, tool, model, question: asked });
  return observe(agent, { name, asType: "agent" })(question);
});
await provider.shutdown();

// An agent under OpenLLMetry: `@traceloop/node-server-sdk` with its instrumentation of `openai`. With `uncaught` it lets
// failures through instead of reporting them.
import { SpanStatusCode, trace } from "@opentelemetry/api";
import { forceFlush, initialize, withAgent, withTool, withWorkflow } from "@traceloop/node-server-sdk";
import OpenAI from "openai";
import { answer, getWeather, runAll } from "./weather-agent.mjs";

initialize({
  appName: "weather-service",
  instrumentModules: { openAI: OpenAI },
  traceloopSyncEnabled: false,
  silenceInitializationMessage: true,
});
const openai = new OpenAI({ maxRetries: 0 });
const chat = (body) => openai.chat.completions.create(body);

/** The SDK never ends the span of a rejecting function, so a program catches failures inside to report them. */
async function told(promise) {
  try {
    return await promise;
  } catch (error) {
    const span = trace.getActiveSpan();
    span.recordException(error);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    return { error: error.message };
  }
}

const handled = process.argv[2] === "uncaught" ? (promise) => promise : told;
const tool = (args) => withTool({ name: "get_weather" }, (given) => handled(getWeather(given)), args);

await runAll(({ name, model, question }) => {
  const agent = (asked) => handled(answer({ chat, tool, model, question: asked }));
  return withWorkflow({ name }, (asked) => withAgent({ name: "weather-agent" }, agent, asked), question);
});
await forceFlush();

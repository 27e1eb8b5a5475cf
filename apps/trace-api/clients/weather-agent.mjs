import { setTimeout } from "node:timers/promises";
import { DiagConsoleLogger, DiagLogLevel, diag } from "@opentelemetry/api";

// Exporters report failed deliveries only to this.
diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);

/** The three traces of every client: all goes well, the tool fails, the model fails. */
const cases = [
  { name: "weather in Paris", model: "gpt-4o-mini", question: "What is the weather in Paris?" },
  { name: "weather in Atlantis", model: "gpt-4o-mini", question: "What is the weather in Atlantis?" },
  { name: "weather without a model", model: "gpt-overloaded", question: "What is the weather in Paris?" },
];

/** The tool's description for the model. */
export const weatherTool = {
  description: "Tells the weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

/** The tool: knows Paris and fails elsewhere. It takes a while, since the SDKs' clocks count in milliseconds. */
export async function getWeather({ city }) {
  await setTimeout(5);
  if (city !== "Paris") throw new Error(`No weather station in ${city}`);
  return { city, celsius: 18 };
}

/**
 * Asks the model, calls the tool of its choice and lets it word the answer.
 * @param chat takes the body of a chat completion and returns the model's answer
 * @param tool the tool, as the client under test wraps it
 */
export async function answer({ chat, tool, model, question }) {
  const tools = [{ type: "function", function: { name: "get_weather", ...weatherTool } }];
  const messages = [{ role: "user", content: question }];
  const asked = (await chat({ model, messages, tools })).choices[0].message;
  const [call] = asked.tool_calls;
  const result = await tool(JSON.parse(call.function.arguments));
  messages.push(asked, { role: "tool", tool_call_id: call.id, content: JSON.stringify(result) });
  return (await chat({ model, messages, tools })).choices[0].message.content;
}

/** Runs all three, each inside the wrapper of the client under test; two of them are to fail. */
export async function runAll(wrapped) {
  for (const each of cases) await wrapped(each).catch(() => undefined);
}

import { describe, expect, it } from "@jest/globals";
import { titleOf } from "./content.js";
import { isGeneric } from "./conventions.js";

describe("the title of a trace", () => {
  it.each<[string, unknown, string | undefined]>([
    ["a text", "  Refund order 7\nplease", "Refund order 7"],
    [
      "messages of OpenTelemetry",
      {
        system_instructions: [{ type: "text", content: "Be short" }],
        messages: [{ role: "user", parts: [{ type: "text", content: "Hi" }] }],
      },
      "Hi",
    ],
    [
      "OpenAI's messages",
      [
        { role: "system", content: "Be short" },
        { role: "user", content: [{ type: "text", text: "Hi" }] },
      ],
      "Hi",
    ],
    ["a prompt", { prompt: "Hi" }, "Hi"],
    ["Google's contents", { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }, "Hi"],
    [
      "LangChain's classes",
      { messages: [{ lc: 1, id: ["langchain_core", "messages", "HumanMessage"], kwargs: { content: "Hi" } }] },
      "Hi",
    ],
    ["messages of others", [{ role: "assistant", content: "Hello" }], undefined],
    ["other values", { city: "Paris" }, undefined],
    ["an empty text", " ", undefined],
    ["a long text", "x".repeat(300), "x".repeat(200)],
  ])("is in %s", (_of, input, title) => {
    expect(titleOf(JSON.stringify(input))).toBe(title);
  });

  it("is not looked for in a long or deep input", () => {
    expect(titleOf(JSON.stringify("x".repeat(70_000)))).toBeUndefined();
    expect(titleOf(`${'{"input":'.repeat(150)}"Hi"${"}".repeat(150)}`)).toBeUndefined();
    expect(titleOf(null)).toBeUndefined();
  });

  it.each([
    "invoke_agent gpt-4o-mini",
    "chat gpt-4o",
    "Agent workflow",
    "LangGraph",
    "ai.generateText",
    "weather_agent run",
    "POST /chat",
    "GET",
  ])("takes the place of the name %s", (name) => expect(isGeneric(name)).toBe(true));

  it.each(["refund order 7", "Post a letter", "get weather", "chatbot", "reagent", "invoke_agents"])(
    "leaves the name %s",
    (name) => expect(isGeneric(name)).toBe(false),
  );
});

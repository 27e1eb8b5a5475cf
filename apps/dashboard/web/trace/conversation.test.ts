import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { messagesOf } from "./conversation.js";

const text = (words: string) => ({ type: "text", text: words });

describe("messagesOf", () => {
  it.each([
    ["one message", { role: "user", content: "hi" }, [{ role: "user", parts: [text("hi")] }]],
    ["a list", [{ role: "user", content: "hi" }], [{ role: "user", parts: [text("hi")] }]],
    ["messages without text", [{ role: "tool", content: null }], [{ role: "tool", parts: [] }]],
    [
      "OpenAI's request",
      { messages: [{ role: "user", content: [text("hi")] }] },
      [{ role: "user", parts: [text("hi")] }],
    ],
    [
      "OpenAI's answer",
      {
        choices: [
          { message: { role: "assistant", tool_calls: [{ function: { name: "f", arguments: '{"a":1.10}' } }] } },
        ],
      },
      [{ role: "assistant", parts: [{ type: "call", name: "f", json: '{"a":1.10}' }] }],
    ],
    [
      "Anthropic's request",
      {
        system: "be kind",
        messages: [{ role: "assistant", content: [{ type: "tool_use", name: "f", input: { a: 1 } }] }],
      },
      [
        { role: "system", parts: [text("be kind")] },
        { role: "assistant", parts: [{ type: "call", name: "f", json: '{"a":1}' }] },
      ],
    ],
    [
      "OpenTelemetry's attribute, a text of JSON",
      { "gen_ai.input.messages": JSON.stringify([{ role: "user", parts: [{ type: "text", content: "hi" }] }]) },
      [{ role: "user", parts: [text("hi")] }],
    ],
    [
      "OpenInference's flattened keys",
      {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "f",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{}",
        "llm.input_messages.1.message.role": "assistant",
      },
      [
        { role: "user", parts: [text("hi")] },
        { role: "assistant", parts: [{ type: "call", name: "f", json: "{}" }] },
      ],
    ],
  ])("knows %s", (_name, value, messages) => {
    expect(messagesOf(JSON.stringify(value))).toEqual(messages);
  });

  it.each(["1", "[]", "{}", '[{"role":1}]', '[{"role":"user","content":"a"},2]', '{"role":"admin"}', "[1"])(
    "leaves %s alone",
    (json) => expect(messagesOf(json)).toBeUndefined(),
  );

  it("keeps numbers within arguments as sent", () => {
    const json = '[{"role":"a","content":[{"type":"tool_use","name":"f","input":{"n":12345678901234567890}}]}]';
    expect(messagesOf(json)?.[0]?.parts).toEqual([{ type: "call", name: "f", json: '{"n":12345678901234567890}' }]);
  });

  it("takes any JSON", () => {
    fc.assert(fc.property(fc.json(), (json) => void messagesOf(json)));
  });
});

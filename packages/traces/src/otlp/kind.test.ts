import { describe, expect, it } from "@jest/globals";
import { kindOfAttributes, kindOfJson } from "./kind.js";

const toAttributes = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({
    key,
    value: { value: "stringValue", stringValue } as const,
  }));

describe("the kind of a span", () => {
  it.each<[Record<string, string>, string]>([
    [{ "gen_ai.operation.name": "chat" }, "model"],
    [{ "gen_ai.operation.name": "embeddings" }, "model"],
    [{ "gen_ai.operation.name": "execute_tool" }, "tool"],
    [{ "gen_ai.operation.name": "invoke_agent" }, "agent"],
    [{ "gen_ai.operation.name": "retrieval" }, "retrieval"],
    [{ "openinference.span.kind": "LLM" }, "model"],
    [{ "openinference.span.kind": "RETRIEVER" }, "retrieval"],
    [{ "openinference.span.kind": "GUARDRAIL" }, "evaluation"],
    [{ "openinference.span.kind": "CHAIN" }, "chain"],
    [{ "langfuse.observation.type": "generation" }, "model"],
    [{ "langfuse.observation.type": "evaluator" }, "evaluation"],
    [{ "traceloop.span.kind": "workflow" }, "chain"],
    [{ "traceloop.span.kind": "agent" }, "agent"],
    [{ "mastra.span.type": "agent_run" }, "agent"],
    [{ "mastra.span.type": "mcp_tool_call" }, "tool"],
    [{ "langsmith.span.kind": "retriever" }, "retrieval"],
    [{ "mlflow.spanType": '"CHAT_MODEL"' }, "model"],
    [{ "braintrust.span_attributes": '{"name":"x","type":"score"}' }, "evaluation"],
    [{ "genkit:metadata:subtype": "flow" }, "chain"],
    [{ "ai.operationId": "ai.generateText" }, "agent"],
    [{ "ai.operationId": "ai.streamText.doStream" }, "model"],
    [{ "ai.operationId": "ai.toolCall" }, "tool"],
    [{ "span.type": "llm_request" }, "model"],
    [{ "llm.request.type": "rerank" }, "retrieval"],
    [{ "gcp.vertex.agent.tool_call_args": "{}" }, "tool"],
    [{ "gen_ai.request.model": "gpt-4o" }, "model"],
    [{ "http.request.method": "GET" }, "other"],
    [{}, "other"],
  ])("of %j is %s, also in JSON", (attributes, kind) => {
    expect(kindOfAttributes(toAttributes(attributes))).toBe(kind);
    expect(kindOfJson(JSON.stringify(attributes))).toBe(kind);
  });

  it("comes from the first convention that tells one, in any order of attributes", () => {
    const attributes = toAttributes({
      "gen_ai.request.model": "gpt-4o",
      "langfuse.observation.type": "span",
      "traceloop.span.kind": "task",
      "gen_ai.operation.name": "custom",
    });
    expect(kindOfAttributes(attributes)).toBe("chain");
    expect(kindOfAttributes(attributes.toReversed())).toBe("chain");
  });

  it("is not of a number, and not of a text of any length", () => {
    const number = { value: "intValue", intValue: "1" } as const;
    expect(kindOfAttributes([{ key: "span.type", value: number }, { key: "gen_ai.operation.name" }])).toBe("other");
    expect(kindOfAttributes(toAttributes({ "span.type": `{${'"type":'.repeat(100_000)}` }))).toBe("other");
    expect(kindOfJson('{"span.type":1,"ai.operationId":{"a":"tool"}}')).toBe("other");
  });
});

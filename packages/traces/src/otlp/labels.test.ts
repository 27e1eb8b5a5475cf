import { describe, expect, it } from "@jest/globals";
import { labelsOf } from "./content.js";
import type { AnyValue } from "./request.js";

const anyValueOf = (value: string | number | string[]): AnyValue => {
  if (typeof value === "string") return { value: "stringValue", stringValue: value };
  if (typeof value === "number") return { value: "intValue", intValue: value };
  return { value: "arrayValue", arrayValue: { values: value.map(anyValueOf) } };
};
const read = (attributes: Record<string, string | number | string[]>) =>
  labelsOf(Object.entries(attributes).map(([key, value]) => ({ key, value: anyValueOf(value) })));

describe("the labels of attributes", () => {
  it.each([
    [{ "gen_ai.conversation.id": "c" }, { session_id: "c" }],
    [
      { "session.id": "s", "user.id": "u" },
      { session_id: "s", user_id: "u" },
    ],
    [{ "enduser.id": "u" }, { user_id: "u" }],
    [
      { "deployment.environment.name": "prod", "service.version": "1.2", "service.name": "shop" },
      { environment: "prod", release: "1.2" },
    ],
    [{ "deployment.environment": "prod" }, { environment: "prod" }],
    [
      { "langfuse.session.id": "s", "langfuse.user.id": "u", "langfuse.environment": "e", "langfuse.release": "r" },
      { session_id: "s", user_id: "u", environment: "e", release: "r" },
    ],
    [{ "langfuse.trace.tags": ["b", "a", "b"] }, { tags: ["a", "b"] }],
    [
      { "traceloop.association.properties.session_id": "s", "traceloop.association.properties.userId": "u" },
      { session_id: "s", user_id: "u" },
    ],
    [
      {
        "ai.telemetry.metadata.sessionId": "s",
        "ai.telemetry.metadata.userId": 7,
        "ai.telemetry.metadata.tags": ["t"],
      },
      { session_id: "s", user_id: "7", tags: ["t"] },
    ],
    [
      { "ai.telemetry.metadata.environment": "e", "ai.telemetry.metadata.release": "r" },
      { environment: "e", release: "r" },
    ],
    [
      { "tag.tags": ["x"], metadata: '{"user_id":"u","thread_id":"t"}' },
      { tags: ["x"], user_id: "u", session_id: "t" },
    ],
    [
      { "langsmith.span.tags": "b, a", "langsmith.metadata.session_id": "s" },
      { tags: ["a", "b"], session_id: "s" },
    ],
    [
      { "mastra.tags": '["x"]', "mastra.metadata.userId": "u" },
      { tags: ["x"], user_id: "u" },
    ],
    [
      { "mlflow.trace.session": "s", "mlflow.trace.user": "u" },
      { session_id: "s", user_id: "u" },
    ],
    [{ "gcp.vertex.agent.session_id": "s" }, { session_id: "s" }],
  ])("%j are %j", (attributes, labels) => {
    expect(read(attributes)).toEqual(labels);
  });

  it("are those of the first convention, in any order of attributes", () => {
    const attributes = {
      "session.id": "second",
      "langfuse.session.id": "first",
      "ai.telemetry.metadata.sessionId": "third",
    };
    expect(read(attributes)).toEqual({ session_id: "first" });
    expect(read(Object.fromEntries(Object.entries(attributes).reverse()))).toEqual({ session_id: "first" });
  });

  it("skip what is empty or no text, and cut what is too long", () => {
    expect(read({ "session.id": " ", "user.id": ["u"], "tag.tags": [], metadata: "{" })).toBeNull();
    expect(read({ metadata: "[1]", "mastra.tags": "[" })).toBeNull();
    expect(read({ "session.id": "s\u0000".repeat(200) })?.session_id).toBe("s\ufffd".repeat(100));
    const tags = Array.from({ length: 2_000 }, (_, n) => `${n}`.padStart(200, "0"));
    expect(read({ "tag.tags": tags })?.tags).toEqual(["0".repeat(100)]);
    expect(read({ "tag.tags": Array.from({ length: 30 }, (_, n) => String(n)) })?.tags).toHaveLength(20);
  });
});

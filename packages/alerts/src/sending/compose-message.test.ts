import { describe, expect, it } from "@jest/globals";
import { composeMessage } from "./compose-message.js";
import { compose, delivery, longDigest, url } from "./message.fixture.js";

describe("a digest of all agents", () => {
  it("names them, and counts groups that it does not name", () => {
    const message = longDigest();
    expect(message.subject).toBe("500 more failed traces");
    expect(message.lists[0]?.items).toHaveLength(20);
    expect(message.facts).toContainEqual(["Otherwise", `${35 + 55} traces`]);
  });
});

describe("other events", () => {
  it("say what they are", () => {
    expect(compose({ type: "test", trace: null }).heading).toContain("test");
    const recovered = compose({ type: "trace.recovered", status: "success" });
    expect(recovered.subject).toContain("succeeded again");
    expect(recovered.error).toBeUndefined();
    const content = { agent_id: "a", name: "above 20 %", status: "above", error: "25 % of 40 traces failed" };
    expect(compose({ type: "alert.rule", trace: null, content: JSON.stringify(content) }).facts).toEqual([
      ...[["Agent", "a"] as const, ["Rule", "above 20 %"] as const, ["Status", "above"] as const],
      ["Now", "25 % of 40 traces failed"],
    ]);
  });

  it("have no message where the trace is gone", () => {
    expect(composeMessage({ ...delivery, trace: null }, url)).toBeUndefined();
  });
});

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import { examplesOf } from "./examples.js";

describe("the examples of a first trace", () => {
  const textsOf = (agent: string) => {
    const options = { url: "http://traces.test", key: "wmk_trace_1", agent, now: new Date("2026-11-22T12:00:00Z") };
    return Object.fromEntries(examplesOf(options).map(({ title, text }) => [title, text]));
  };
  const bash = (script: string) => execFileSync("bash", ["-c", script], { encoding: "utf8" });

  it.each(["support-bot", 'Ada\'s "bot" $HOME `id` ü\\'])("name the agent: %s", (agent) => {
    const { curl = "", OpenTelemetry = "", TypeScript = "" } = textsOf(agent);
    const bodies = bash(`curl() { echo "\${!#}" >&2; }\nexec 2>&1\n${curl}`).trim().split("\n");
    expect(bodies.map((body) => JSON.parse(body))).toMatchObject([
      { agent_id: agent, started_at: "2026-11-22T11:59:58.000Z" },
      { name: "call the model", output: "Hello! How can I help?" },
    ]);
    expect(bash(`${OpenTelemetry}\nprintf %s "$OTEL_SERVICE_NAME"`)).toBe(agent);
    const [, name = ""] = /agent_id: (".*"), name/.exec(TypeScript) ?? [];
    expect(JSON.parse(name)).toBe(agent);
  });
});

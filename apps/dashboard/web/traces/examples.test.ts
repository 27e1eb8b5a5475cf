import { execFileSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import { describeWithProgram } from "@waymark/testing";
import { examplesOf } from "./examples.js";

const textsOf = (agent: string) => {
  const options = { url: "http://traces.test", key: "wmk_trace_1", agent, now: new Date("2026-11-22T12:00:00Z") };
  return Object.fromEntries(examplesOf(options).map(({ title, text }) => [title, text]));
};
const agents = ["support-bot", 'Ada\'s "bot" $HOME `id` ü\\'];

describe("the examples of a first trace", () => {
  const bash = (script: string) => execFileSync("bash", ["-c", script], { encoding: "utf8" });

  it.each(agents)("name the agent: %s", (agent) => {
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

describeWithProgram("python3", "the example in Python", (python) => {
  it.each(agents)("names the agent: %s", (agent) => {
    const program = `import sys, types
class Client:
    def __init__(self, **given): self.given = given
    def start_trace(self, agent_id, name): print(agent_id, end=""); return self
    def close(self): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
sys.modules["waymark"] = types.SimpleNamespace(Waymark=Client)
${textsOf(agent)["Python"]}`;
    expect(execFileSync(python, ["-X", "utf8", "-c", program], { encoding: "utf8" })).toBe(agent);
  });
});

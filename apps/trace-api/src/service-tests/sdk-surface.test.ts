import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { type AgentQuery, type ApiClient, createApiClient } from "@waymark/client";
import { describeWithProgram } from "@waymark/testing";
import type {
  agentQuerySchema,
  sessionSchema,
  sessionSummarySchema,
  usageRowSchema,
  userSchema,
} from "@waymark/traces";
import request from "supertest";
import type { z } from "zod";
import { useApp } from "../app.fixture.js";

const packages = new URL("../../../../packages/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, packages), "utf8");

/** Operations without a call, and why. */
const leftOut: Readonly<Record<string, string>> = {
  exportTraces: "senders of OpenTelemetry call it",
  exportLogs: "senders of OpenTelemetry call it",
  exportMetrics: "senders of OpenTelemetry call it",
  mcp: "agents call it",
  changeAccount: "a setting of the account, on its page",
  health: "probes call it",
  ready: "probes call it",
};
/** Writes that the Python client makes from `start_trace`, `observe` and `span`, never by a call of their own. */
const recorded = ["createTrace", "finalizeTrace", "addSpan", "addSpans", "changeSpan", "deleteTrace"];
/** Calls with other names than their operations. */
const renamed: Readonly<Record<string, string>> = {
  getUsage: "usage",
  changeSpan: "updateSpan",
  addSpanScore: "addScore",
};

type Answer<Name extends keyof ApiClient> = ApiClient[Name] extends (...given: never[]) => Promise<infer Read>
  ? Read
  : never;
/** `true`, unless one of two types has what the other lacks. */
type Same<Ours, Theirs> = [Ours, Theirs] extends [Theirs, Ours] ? true : false;

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

describe("the SDKs", () => {
  const test = useApp();

  it("have a call for each operation of the document, told in the tables of their READMEs", async () => {
    const { body } = await request(test.app).get("/openapi.json");
    const paths = Object.values<Record<string, { operationId: string }>>(body.paths);
    const operations = paths.flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    for (const name of Object.keys(leftOut)) expect(operations).toContain(name);
    const api = createApiClient({ key: null });
    const python = read("client-python/waymark/_api.py");
    const tables = [read("client/README.md"), read("client-python/README.md")];
    for (const operation of operations.filter((name) => leftOut[name] === undefined)) {
      const name = renamed[operation] ?? operation;
      expect([name, Object.keys(api).includes(name), tables[0]?.includes(`\`${name}`)]).toEqual([name, true, true]);
      if (recorded.includes(operation)) continue;
      const inPython = snake(operation === "addSpanScore" ? "addScore" : operation);
      expect([inPython, python.includes(`def ${inPython}(`), tables[1]?.includes(`\`${inPython}`)]).toEqual([
        inPython,
        true,
        true,
      ]);
    }
  });

  it("have the types of the API's schemas, or do not compile", () => {
    const same: [
      Same<Answer<"listSessions">["sessions"][number], z.output<typeof sessionSchema>>,
      Same<Answer<"listUsers">["users"][number], z.output<typeof userSchema>>,
      Same<Omit<Answer<"readSession">, "traces" | "next_cursor">, z.output<typeof sessionSummarySchema>>,
      Same<Answer<"sumUsage">["rows"][number], z.output<typeof usageRowSchema>>,
      Same<keyof AgentQuery, keyof z.input<typeof agentQuerySchema>>,
    ] = [true, true, true, true, true];
    expect(same).not.toContain(false);
  });

  it("read what the API answers", async () => {
    const account = await test.makeAccount("pro");
    const labels = { session_id: "chat/7", user_id: "u" };
    const id = await account.makeTrace({ status: "error", started_at: new Date().toISOString(), ...labels });
    const server = test.app.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const address = server.address() as { port: number };
      const url = `http://127.0.0.1:${address.port}`;
      const api = createApiClient({ key: account.key, url });
      const score = await api.addScore(id, { name: "helpful", value: true });
      expect(score.score_id).toEqual(expect.any(String));
      const from = new Date(Date.now() - 3_600_000);
      const range = { from, to: new Date(Date.now() + 3_600_000) };
      expect(await api.listFailures({ ...range, limit: 5 })).toMatchObject({ failures: [{ trace_id: id, count: 1 }] });
      expect(await api.listSessions(range)).toMatchObject({ sessions: [{ id: "chat/7", user_id: "u" }] });
      expect(await api.readSession("chat/7")).toMatchObject({ id: "chat/7", traces: [{ id }] });
      expect(await api.listUsers(range)).toMatchObject({ users: [{ id: "u", sessions: 1 }] });
      expect(await api.readAgentScores("agent", range)).toMatchObject({ scores: [{ name: "helpful", mean: 1 }] });
      expect((await api.readAgentSeries("agent", { ...range, interval: "hour" })).series.at(-1)).toBeDefined();
      expect(await api.sumUsage({ ...range, dimension: "user" })).toMatchObject({ rows: [{ value: "u", traces: 1 }] });
      expect(await api.readModelUsage()).toMatchObject({ models: [], series: [] });
      expect(await api.listDropped()).toMatchObject({ month: expect.any(String), rows: [] });
      await expect(api.listFailures({ nonsense: 1 })).rejects.toMatchObject({ status: 400 });
      const stop = new AbortController();
      const events = api.streamTraces({ agent_id: "agent" }, { signal: stop.signal });
      const first = events.next();
      await new Promise((later) => setTimeout(later, 300));
      const streamed = await account.makeTrace();
      expect((await first).value).toMatchObject({ event: "trace", trace: { id: streamed } });
      await events.return();
      stop.abort();
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

const script = `
import json, sys, threading, time, waymark
url, key, trace = sys.argv[1:]
client = waymark.Waymark(key, url)
api = client.api
score = api.add_score(trace, "helpful", True, comment="good")
found = {
    "failures": api.list_failures(limit=5)["failures"][0]["trace_id"] == trace,
    "traces": [each["id"] for each in api.iterate("traces", status=["error", "timeout"], limit=1)] == [trace],
    "session": api.read_session("chat/7")["traces"][0]["id"] == trace,
    "sessions": api.list_sessions()["sessions"][0]["id"],
    "users": api.list_users()["users"][0]["id"],
    "agents": api.list_agents()["agents"][0]["id"],
    "scores": api.read_agent_scores("agent")["scores"][0]["mean"],
    "trace": api.get_trace(trace, include=["scores"])["scores"][0]["id"] == score,
    "series": len(api.read_agent_series("agent", interval="day")["series"]) > 0,
    "usage": [api.get_usage()["plan"], api.sum_usage("user")["rows"][0]["value"], api.list_dropped()["rows"], api.read_model_usage()["models"]],
}
events = api.stream_traces(agent_id="agent")
threading.Timer(0.5, lambda: client.start_trace("agent", "streamed").end()).start()
found["stream"] = next(events)["trace"]["name"]
events.close()
try:
    api.list_failures(nonsense=1)
except waymark.WaymarkFailure as failure:
    found["refusal"] = failure.status
print(json.dumps(found))
client.close()
`;

describeWithProgram("python3", "the Python SDK's reading calls", (python) => {
  const test = useApp();

  it("read what the API answers", async () => {
    const account = await test.makeAccount("pro");
    const started_at = new Date(Date.now() - 1_000).toISOString();
    const id = await account.makeTrace({ status: "error", started_at, session_id: "chat/7", user_id: "u" });
    const server = test.app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const env = { PYTHONPATH: fileURLToPath(new URL("client-python/", packages)), PYTHONDONTWRITEBYTECODE: "1" };
    try {
      const given = ["-c", script, `http://127.0.0.1:${port}`, account.key, id];
      const { stdout } = await promisify(execFile)(python, given, { env, timeout: 30_000 });
      expect(JSON.parse(stdout)).toEqual({
        failures: true,
        traces: true,
        session: true,
        sessions: "chat/7",
        users: "u",
        agents: "agent",
        scores: 1,
        trace: true,
        series: true,
        usage: ["pro", "u", [], []],
        stream: "streamed",
        refusal: 400,
      });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }, 60_000);
});

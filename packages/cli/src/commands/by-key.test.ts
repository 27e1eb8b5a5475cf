import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient, createApiClient } from "@waymark/client";
import { useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const startApp = useProcesses();
const accounts = createCommandLine({ DATABASE_URL: database.url });
const email = `${randomUUID()}@example.com`;
let api: ApiClient;
let trace: string;
let env: Record<string, string>;
let byKey: ReturnType<typeof createCommandLine>;

async function newKey(account: string, ...more: string[]): Promise<string> {
  const args = ["key", "create", "--account", account, "--name", "test", ...more];
  return (await accounts.json<{ key: string }>(...args)).key;
}

beforeAll(async () => {
  await accounts.json("account", "create", "--email", email, "--plan", "pro");
  const [traces, statistics] = [
    await startApp("trace-api", database.url),
    await startApp("analytics-api", database.url),
  ];
  env = {
    WAYMARK_TRACE_KEY: await newKey(email, "--service", "trace", "--scope", "all"),
    WAYMARK_TRACE_URL: traces.url,
    WAYMARK_STATS_KEY: await newKey(email, "--service", "analytics"),
    WAYMARK_STATS_URL: statistics.url,
  };
  byKey = createCommandLine(env);
  api = createApiClient({ key: env["WAYMARK_TRACE_KEY"], url: traces.url });
  const labels = { session_id: "chat-7", user_id: "ann" };
  const failed = { agent_id: "billing-agent", name: "Refund", status: "running", ...labels } as const;
  const at = new Date(Date.now() - 60_000).toISOString();
  trace = (await api.createTrace({ ...failed, started_at: at })).trace_id;
  const attributes = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1_000 };
  await api.addSpan(trace, { name: "pay", status: "error", error: "no money", started_at: at, attributes });
  await api.finalizeTrace(trace, { status: "error", ended_at: new Date().toISOString() });
});

describe("lists by key", () => {
  it.each([
    ["failures", { agent_id: "billing-agent", span_name: "pay", count: 1 }, /^COUNT .*\n1 +billing-agent +pay/],
    [
      "agents",
      { id: "billing-agent", traces: { error: 1 }, failure_rate: 1 },
      /^ID .*\nbilling-agent +0 +0 +1 +0 +100\.0% /,
    ],
    ["sessions", { id: "chat-7", user_id: "ann" }, /^ID .*\nchat-7 +ann +1 +1 +1000/],
    ["users", { id: "ann", sessions: 1 }, /^ID .*\nann +1 +1 +1 +1000/],
  ] as const)("%s are the API's answer, and the same from the database", async (name, row, drawn) => {
    const answer = await byKey.json<Record<string, unknown>>(name);
    expect(answer).toMatchObject({ [name]: [row], next_cursor: null });
    const times = { from: expect.anything(), to: expect.anything() };
    expect(await accounts.json(name, "--account", email)).toMatchObject({
      ...answer,
      ...(answer["from"] ? times : {}),
    });
    expect((await byKey.run([name])).stdout).toMatch(drawn);
    expect((await byKey.run([name, "--from", "1m", "--to", "59s"])).stdout).toMatch(/^There are none|\n/);
  });

  it("pass options on as parameters, and name the cursor of the next page", async () => {
    const { trace_id } = await api.createTrace({
      agent_id: "other",
      name: "n",
      status: "error",
      started_at: new Date().toISOString(),
    });
    const page = await byKey.run(["failures", "--limit", "1"]);
    const [, cursor = ""] = /\nMore: --cursor (\S+)\n$/.exec(page.stdout) ?? [];
    const rest = await byKey.json<{ failures: unknown[] }>("failures", "--limit", "1", "--cursor", cursor);
    expect(rest).toMatchObject({ failures: [{}], next_cursor: null });
    expect(await byKey.json("failures", "--agent", "other", "--from", "1h")).toMatchObject({
      failures: [{ trace_id }],
    });
    expect(await byKey.json("failures", "--user", "ann", "--session", "chat-7")).toMatchObject({
      failures: [{ agent_id: "billing-agent" }],
    });
    expect(await byKey.json("sessions", "--user", "nobody")).toEqual({ sessions: [], next_cursor: null });
  });

  it("name a wrong parameter, whichever they read", async () => {
    const args = ["failures", "--from", "1h", "--to", "2h"];
    const [api, owner] = [await byKey.run(args), await accounts.run([...args, "--account", email])];
    expect([api.code, owner.code, api.stdout, owner.stdout]).toEqual([1, 1, "", ""]);
    expect(api.stderr).toContain("The trace API refuses this: to: Must be after from");
    expect(owner.stderr).toContain("to: Must be after from");
  });
});

describe("usage and stats by key", () => {
  it("show the plan's use", async () => {
    expect(await byKey.json("usage")).toMatchObject({
      plan: "pro",
      traces: { limit: 50_000, remaining: expect.anything() },
    });
    const { stdout } = await byKey.run(["usage"]);
    expect(stdout).toMatch(/^plan +Pro\nmonth +\S+, UTC; starts anew at \S+Z\ntraces +\d of 50,000\n/);
    const ofDatabase = await accounts.run(["usage", "--account", email]);
    const figures = (text: string) => text.replace(/ +/g, " ").split("\n").slice(1);
    expect(figures(ofDatabase.stdout)).toEqual(figures(stdout));
  });

  it("show tokens and cost of the same days", async () => {
    const [answer, owned] = [
      await byKey.json<Record<string, unknown>>("usage", "models"),
      await accounts.json<Record<string, unknown>>("usage", "models", "--account", email),
    ];
    expect(answer["models"]).toMatchObject([{ model: "gpt-4o", input_tokens: 1_000, cost_usd: "0.0025" }]);
    expect(answer["models"]).toEqual(owned["models"]);
    expect([answer["from"], answer["to"]]).toEqual([owned["from"], owned["to"]].map((day) => `${day}T00:00:00.000Z`));
    expect((await byKey.run(["usage", "models"])).stdout).toMatch(/^MODEL .*\ngpt-4o .* 0.0025\n\nDAY /);
    expect(await byKey.run(["usage", "models", "--interval", "week"])).toMatchObject({ code: 2 });
  });

  it("show the only site of a key, or the named one", async () => {
    const sites = ["one", "two"].map((name) => `${name}-${randomUUID()}.example`);
    expect((await byKey.run(["stats"])).stderr).toBe("Give one of this key's sites: it has none.\n");
    const ids: string[] = [];
    for (const domain of sites) {
      const args = ["site", "create", "--account", email, "--domain", domain, "--name", "s"];
      ids.push((await accounts.json<{ id: string }>(...args)).id);
      if (ids.length === 1) expect((await byKey.run(["stats"])).stdout).toContain(domain);
    }
    const [first = "", second = ""] = sites;
    expect((await byKey.run(["stats", second, "--lists", "browsers"])).stdout).toMatch(
      new RegExp(`^${second}[^]*BROWSERS`),
    );
    const byId = await byKey.json("stats", ids[0] ?? "", "--metrics", "visits", "--filters", "country:is:DE");
    expect(byId).toMatchObject({ range: "7d", visits: 0, previous: {}, series: expect.anything() });
    expect(byId).toEqual(
      await accounts.json("stats", "--site", first, "--metrics", "visits", "--filters", "country:is:DE"),
    );
    const several = await byKey.run(["stats"]);
    expect(several).toMatchObject({ code: 1, stderr: expect.stringContaining(`${first} (${ids[0]})`) });
    expect(await byKey.run(["stats", first, "--site", first])).toMatchObject({ code: 2 });
  });
});

describe("score add and trace delete", () => {
  it("score a trace and a span of it", async () => {
    const { spans } = await api.getTrace(trace);
    const add = (value: string, ...more: string[]) =>
      byKey.json<{ score_id: string }>("score", "add", trace.slice(-8), "--name", "helpful", "--value", value, ...more);
    await add("true");
    await add("0.5", "--comment", "half");
    await add("-1e3");
    expect(await add("good", "--span", spans[0]?.id ?? "")).toEqual({
      score_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const headers = { Authorization: `Bearer ${env["WAYMARK_TRACE_KEY"]}` };
    const read = await fetch(`${env["WAYMARK_TRACE_URL"]}/api/v1/traces/${trace}?include=scores`, { headers });
    const { scores } = (await read.json()) as { scores: { value: unknown; span_id: string | null }[] };
    expect(scores.map(({ value, span_id }) => [value, span_id])).toEqual([
      ...[
        [true, null],
        [0.5, null],
        [-1_000, null],
      ],
      ["good", spans[0]?.id],
    ]);
    const unknown = await byKey.run(["score", "add", randomUUID(), "--name", "n", "--value", "1"]);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("answered 404: Trace not found.") });
  });

  it("deletes a trace after --yes alone, by a key that may", async () => {
    const new_trace = { agent_id: "billing-agent", name: "Go\u001b[31m", status: "running" } as const;
    const { trace_id } = await api.createTrace({ ...new_trace, started_at: new Date().toISOString() });
    const asked = await byKey.run(["trace", "delete", trace_id]);
    expect(asked).toMatchObject({ code: 1, stdout: "" });
    expect(asked.stderr).toBe(
      `This removes the trace ${trace_id}, "Go [31m" of billing-agent, with 0 spans, for good. Add --yes to do it.\n`,
    );
    const reader = await newKey(email, "--service", "trace", "--scope", "read");
    const refused = await byKey.run(["trace", "delete", trace_id, "--yes", "--key", reader]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("answered 403: ") });
    expect(refused.stderr).toMatch(/scope/);
    expect(await byKey.json("trace", "delete", trace_id, "--yes")).toEqual({ ok: true });
    expect((await byKey.run(["trace", "show", trace_id])).stderr).toContain("answered 404");
  });
});

describe("where a command reads, and what it says", () => {
  it("needs a key or an owner, and not both", async () => {
    const nothing = createCommandLine({});
    expect((await nothing.run(["failures"])).stderr).toBe(
      "Give --key or set WAYMARK_TRACE_KEY to ask the trace API, or give --account to read the database.\n",
    );
    expect((await nothing.run(["stats"])).stderr).toContain(
      "set WAYMARK_STATS_KEY to ask the analytics API, or give --site",
    );
    expect(await byKey.run(["failures", "--account", email, "--url", "http://x"])).toMatchObject({ code: 2 });
  });

  it("gives the API's hint, its documentation and the request's id", async () => {
    const { stderr } = await byKey.run(["usage", "--key", env["WAYMARK_STATS_KEY"] ?? ""]);
    expect(stderr).toMatch(/^The trace API refuses this key: This is a key of the analytics API\. /);
    expect(stderr).toMatch(new RegExp(`See ${env["WAYMARK_TRACE_URL"]}/docs\\. The request was \\S+\\.\n$`));
  });

  describe("of another server", () => {
    let server: Server;
    let url: string;
    beforeAll(async () => {
      server = createServer((request, response) => {
        const limited = { error: "Monthly trace limit reached.", hint: "Wait for the month\u001b[31m", docs: "/docs" };
        if (request.url?.includes("agents")) return void response.writeHead(200).end("<html>");
        response.writeHead(429, { "Retry-After": "7200", "X-Request-Id": "r-1" }).end(JSON.stringify(limited));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(() => void server.close());

    it("tells how long to wait, and passes no terminal controls on", async () => {
      expect(await byKey.run(["failures", "--url", url])).toEqual({
        code: 1,
        stdout: "",
        stderr: `The trace API answered 429: Monthly trace limit reached. Wait for the month [31m. Try again in 2 h 00 m. See ${url}/docs. The request was r-1.\n`,
      });
    });

    it("says when an answer is no JSON", async () => {
      const { code, stderr } = await byKey.run(["agents", "--url", url]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining("The trace API cannot be reached: "),
      });
    });
  });
});

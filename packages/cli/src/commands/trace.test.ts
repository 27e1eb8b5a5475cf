import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient, createApiClient, type NewTrace } from "@waymark/client";
import { type RunningApp, useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const startApp = useProcesses();
const accounts = createCommandLine({ DATABASE_URL: database.url });
let service: RunningApp;
let api: ApiClient;
let env: { WAYMARK_TRACE_KEY: string; WAYMARK_TRACE_URL: string };
let cli: ReturnType<typeof createCommandLine>;

async function newKey(): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const { id } = await accounts.json<{ id: string }>("account", "create", "--email", email, "--plan", "pro");
  const args = ["key", "create", "--account", id, "--service", "trace", "--name", "test"];
  return (await accounts.json<{ key: string }>(...args)).key;
}

beforeAll(async () => {
  service = await startApp("trace-api", database.url);
  env = { WAYMARK_TRACE_KEY: await newKey(), WAYMARK_TRACE_URL: service.url };
  api = createApiClient({ key: env.WAYMARK_TRACE_KEY, url: service.url });
  cli = createCommandLine(env);
});

/** A trace that began at so many seconds past noon. */
const newTrace = (name: string, second: number, changes: Partial<NewTrace> = {}): NewTrace => ({
  agent_id: "billing-agent",
  name,
  status: "running",
  started_at: at(second),
  ...changes,
});
const at = (second: number) => new Date(Date.parse("2026-06-01T12:00:00Z") + second * 1_000).toISOString();

describe("trace list", () => {
  it("lists newest first, narrowed by its options, as a table or as JSON", async () => {
    const labels = { session_id: "chat-7", user_id: "ann", environment: "test", release: "2", tags: ["x", "y"] };
    const done = { status: "success", ended_at: at(62), ...labels } as const;
    await api.createTrace(newTrace("Refund one", 0, { status: "error", ended_at: at(1) }));
    await api.createTrace(newTrace("Refund two", 60, done));
    await api.createTrace(newTrace("Another", 120, { agent_id: "other" }));
    const names = async (...args: string[]) =>
      (await cli.json<{ name: string }[]>("trace", "list", ...args)).map(({ name }) => name);
    expect(await names()).toEqual(["Another", "Refund two", "Refund one"]);
    expect(await names("--limit", "2")).toEqual(["Another", "Refund two"]);
    expect(await names("--agent", "billing-agent", "--status", "error,timeout")).toEqual(["Refund one"]);
    expect(await names("--name", "REFUND", "--from", at(60), "--to", at(120))).toEqual(["Refund two"]);
    expect(await names("--search", "refund TWO")).toEqual(["Refund two"]);
    expect(await names("--session", "chat-7", "--user", "ann", "--environment", "test")).toEqual(["Refund two"]);
    expect(await names("--release", "2", "--tag", "y")).toEqual(["Refund two"]);
    expect(await names("--tag", "z")).toEqual([]);
    expect(await names("--min-duration", "1500")).toEqual(["Refund two"]);
    const later = createCommandLine(env, () => new Date(at(180)));
    const since = async (...args: string[]) =>
      (await later.json<{ name: string }[]>("trace", "list", ...args)).map(({ name }) => name);
    expect(await since("--from", "2m")).toEqual(["Another", "Refund two"]);
    expect(await since("--from", "1h", "--to", "1m")).toEqual(["Refund two", "Refund one"]);
    expect(await since("--from", "2026-06-01", "--to", "2026-06-02")).toHaveLength(3);

    const { code, stdout, stderr } = await cli.run(["trace", "list"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [head, first, second] = stdout.split("\n");
    expect(head).toMatch(/^ID +STARTED +DURATION +STATUS +AGENT +NAME$/);
    expect(first).toMatch(/^[0-9a-f-]{36} {2}2026-06-01T12:02:00.000Z {2}- +running +other +Another$/);
    expect(second).toMatch(/2 s +success +billing-agent +Refund two$/);
    expect((await cli.run(["trace", "list", "--agent", "nobody"])).stdout).toBe("There are none.\n");
  });

  it("says in a sentence what is wrong", async () => {
    const url = env.WAYMARK_TRACE_URL;
    for (const [args, variables, sentence] of [
      [["list"], {}, "A key of the trace service is needed"],
      [
        ["list"],
        { WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_TRACE_URL: url },
        "refuses this key: The key is cut off or mistyped",
      ],
      [["list", "--url", "ftp://x"], env, "must be a URL that starts with http"],
      [["list", "--url", "http://127.0.0.1:9"], env, "The trace API cannot be reached: "],
      [["list", "--from", "1h", "--to", "2h"], env, "The trace API refuses this: "],
      [["show", randomUUID()], env, "The trace API answered 404: Trace not found."],
      [["show", "../../health"], env, "The trace API answered 404: Trace not found."],
      [["tail"], { ...env, WAYMARK_TRACE_URL: "http://127.0.0.1:9" }, "The trace API cannot be reached: "],
    ] as const) {
      const { code, stdout, stderr } = await createCommandLine(variables).run(["trace", ...args, "--json"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(sentence);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).not.toContain(env.WAYMARK_TRACE_KEY);
    }
    const notATime = await cli.run(["trace", "list", "--from", "yesterday"]);
    expect(notATime).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("It must be a time: 30m,") });
    const wrong = await cli.run(["trace", "list", "--status", "eror"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("It must be of running, success") });
  });
});

describe("trace show", () => {
  it("gives contents as they were sent, digit by digit and key by key, drawn and as JSON", async () => {
    const text = String.raw`{ "n" : [12345678901234567890,1e400,1.10,-0.0], "n":"\u202e", "2":0,"1":[ ] }`;
    const exact = String.raw`{"n":[12345678901234567890,1e400,1.10,-0.0],"n":"\u202e","2":0,"1":[]}`;
    const send = async (path: string, body: string): Promise<Record<string, string>> => {
      const headers = { Authorization: `Bearer ${env.WAYMARK_TRACE_KEY}`, "Content-Type": "application/json" };
      const answer = await fetch(`${service.url}/api/v1${path}`, { method: "POST", headers, body });
      return (await answer.json()) as Record<string, string>;
    };
    const head = `"name":"exact","started_at":"${at(0)}"`;
    const { trace_id = "" } = await send(
      "/traces",
      `{${head},"agent_id":"billing-agent","status":"running","metadata":${text}}`,
    );
    const contents = `"input":${text},"output":" 1.10 "`;
    const { span_id = "" } = await send(`/traces/${trace_id}/spans`, `{${head},"status":"ok",${contents}}`);

    const whole = (await cli.run(["trace", "show", trace_id, "--json"])).stdout;
    expect(whole).toContain(`"metadata":${exact}`);
    expect(whole).toContain(`"input":${exact},"output":" 1.10 "`);
    expect(JSON.parse(whole).spans[0].output).toBe(" 1.10 ");
    expect((await cli.run(["trace", "show", trace_id, "--span", span_id, "--json"])).stdout).toContain(
      `"input":${exact}`,
    );
    const drawn = (await cli.run(["trace", "show", trace_id])).stdout;
    expect(drawn).toContain(`metadata  ${exact.slice(0, 40)}`);
    const lines = [`{`, `  "n": [`, "    12345678901234567890,", "    1e400,", "    1.10,", "    -0.0", "  ],"];
    expect((await cli.run(["trace", "show", trace_id, "--span", span_id])).stdout).toContain(lines.join("\n"));
    expect((await cli.run(["trace", "show", trace_id, "--io"])).stdout).toContain("12345678901234567890,\n");
  });

  it("draws the tree of a trace, or gives it as JSON", async () => {
    const { trace_id } = await api.createTrace(newTrace("Refund order 1042", 0, { metadata: { model: "gpt-4o" } }));
    await api.addSpans(trace_id, [
      { name: "refund", status: "ok", started_at: at(0), ended_at: at(4), ref: "refund" },
      { name: "look_up", status: "ok", started_at: at(1), ended_at: at(2), parent_ref: "refund" },
      {
        name: "pay",
        status: "error",
        started_at: at(2),
        ended_at: at(4),
        error: "refused\nby bank",
        parent_ref: "refund",
      },
      { name: "notify", status: "ok", started_at: at(3) },
    ]);
    const { code, stdout } = await cli.run(["trace", "show", trace_id]);
    expect(code).toBe(0);
    const bar = (from: number, to: number, cell = "█") =>
      " ".repeat(from * 13.5) + cell.repeat(Math.ceil(to * 13.5) - Math.floor(from * 13.5));
    const { spans } = await api.getTrace(trace_id);
    const shortIdOf = (name: string) => spans.find((each) => each.name === name)?.id.slice(-8);
    expect(stdout.split("\n")).toEqual([
      "Refund order 1042",
      `id        ${trace_id}`,
      "agent     billing-agent",
      "status    running",
      "time      2026-06-01T12:00:00.000Z",
      "spans     4, 1 with an error",
      'metadata  {"model":"gpt-4o"}',
      "",
      `SPAN        ID             START    DURATION  0${"4 s".padStart(53)}`,
      `refund      ${shortIdOf("refund")}           0         4 s  ${bar(0, 4)}`,
      `├─ look_up  ${shortIdOf("look_up")}        +1 s         1 s  ${bar(1, 2)}`,
      `└─ ✗ pay    ${shortIdOf("pay")}        +2 s         2 s  ${bar(2, 4)}`,
      "    ! refused by bank",
      `notify      ${shortIdOf("notify")}        +3 s     running  ${bar(3, 4, "░")}`,
      "",
    ]);
    expect(await cli.json("trace", "show", trace_id)).toEqual(await api.getTrace(trace_id));
  });

  it("takes the end or the beginning of an id, and says where several have it", async () => {
    const ids = [];
    for (const second of [1, 2]) ids.push((await api.createTrace(newTrace(`short ${second}`, second))).trace_id);
    const [id = "", other = ""] = ids;
    expect(await cli.json("trace", "show", id.slice(-8))).toMatchObject({ id, name: "short 1" });
    expect(await cli.json("trace", "show", other.slice(0, 30).toUpperCase())).toMatchObject({ id: other });
    const several = await cli.run(["trace", "show", id.slice(0, 4)]);
    expect(several).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(other) });
    expect(several.stderr).toMatch(/^Several traces have '[0-9a-f]{4}' in their id: .* Give more of one\.\n$/);
    const none = await cli.run(["trace", "show", "ffff-ffff"]);
    expect(none.stderr).toBe("No trace of this account has an id that begins or ends with 'ffff-ffff'.\n");
    expect((await cli.run(["trace", "show", "abc"])).stderr).toContain("Trace not found");
  });

  it("prints inputs and outputs with --io, and one span alone with --span", async () => {
    const { trace_id } = await api.createTrace(newTrace("Refund order 7", 0));
    const output = { text: "o".repeat(500) };
    await api.addSpan(trace_id, { name: "ask", status: "ok", started_at: at(0), input: "hello", output });
    await api.addSpan(trace_id, { name: "pay", status: "error", started_at: at(1), error: "refused" });
    const { spans } = await api.getTrace(trace_id);
    const [ask] = spans;
    const plain = (await cli.run(["trace", "show", trace_id])).stdout;
    expect(plain).not.toContain("o".repeat(101));
    for (const option of ["--io", "--full"]) {
      const whole = (await cli.run(["trace", "show", trace_id, option])).stdout;
      expect(whole).toContain(`  id  ${ask?.id}\n  in  hello\n  out {\n        "text": "${"o".repeat(500)}"`);
      expect(whole).toContain("! refused");
    }
    const alone = await cli.run(["trace", "show", trace_id, "--span", ask?.id.slice(-8) ?? ""]);
    expect(alone.stdout).toMatch(/^ask\nid {6}.*\ninput\nhello\n\noutput\n\{\n {2}"text": "o{500}"\n\}\n$/s);
    expect(alone.stdout).not.toContain("pay");
    expect(await cli.json("trace", "show", trace_id, "--span", ask?.id ?? "")).toEqual(ask);
    const unknown = await cli.run(["trace", "show", trace_id, "--span", randomUUID()]);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("has no span with the id") });
    const several = await cli.run(["trace", "show", trace_id, "--span", ask?.id.slice(0, 4) ?? ""]);
    expect(several).toMatchObject({ code: 1, stderr: expect.stringContaining("Several spans have") });
  });

  it("lets no name, error or metadata reach the terminal's controls", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\r\n\u009b31m\u202eabc";
    const trace = newTrace(evil, 900, { agent_id: evil, metadata: { evil } });
    const { trace_id } = await api.createTrace(trace);
    await api.addSpan(trace_id, { name: evil, status: "error", started_at: at(900), error: evil });
    for (const args of [
      ["show", trace_id],
      ["list", "--limit", "1"],
    ]) {
      const { stdout } = await cli.run(["trace", ...args]);
      expect(stdout).toContain("owned");
      expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect(stdout.split("\n").filter((line) => line.startsWith("31m"))).toEqual([]);
    }
    const { stdout } = await cli.run(["trace", "show", trace_id, "--json"]);
    expect(stdout.trimEnd()).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(JSON.parse(stdout).name).toBe(evil);
  });

  it("draws a trace of 10,000 spans within reason", async () => {
    const { trace_id } = await api.createTrace(newTrace("Large", 0));
    for (let batch = 0; batch < 10; batch++) {
      const spans = Array.from({ length: 1_000 }, (_, n) => ({
        ...({ name: `step ${batch * 1_000 + n}`, started_at: at(batch), ended_at: at(batch + 1) } as const),
        status: n === 999 ? ("error" as const) : ("ok" as const),
      }));
      await api.addSpans(trace_id, spans);
    }
    const { stdout } = await cli.run(["trace", "show", trace_id]);
    expect(stdout.split("\n").length).toBeLessThan(220);
    expect(stdout).toMatch(
      /\.\.\. and 9,800 more spans, 10 of them with an error; --spans 10000 shows all of them\.\n$/,
    );
    const all = await cli.run(["trace", "show", trace_id, "--spans", "10000"]);
    expect(all.stdout.match(/step \d+/g)).toHaveLength(10_000);
  });
});

describe("trace tail", () => {
  /** Starts the built command, and gives the lines that it has printed so far. */
  function startTail(args: readonly string[], url = env.WAYMARK_TRACE_URL) {
    const { child, result } = createCommandLine({ ...env, WAYMARK_TRACE_URL: url }).start(["trace", "tail", ...args]);
    // It fails where a test closes the output that it reads.
    result.catch(() => undefined);
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const until = async (condition: () => boolean) => {
      for (const end = Date.now() + 120_000; Date.now() < end; ) {
        if (condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`It did not come to pass within 15 s. Printed:\n${out}\n${err}`);
    };
    return { child, ended, until, lines: () => out.split("\n").slice(0, -1), errors: () => err };
  }

  it("prints new traces and changes of status, a JSON object a line, until Ctrl-C", async () => {
    const agent_id = randomUUID();
    for (const second of [1, 2, 3]) await api.createTrace(newTrace(`old ${second}`, second, { agent_id }));
    const tail = startTail(["--agent", agent_id, "--lines", "2", "--json"]);
    const events = () => tail.lines().map((line) => JSON.parse(line));
    await tail.until(() => events().length === 2);
    const { trace_id } = await api.createTrace(newTrace("fresh", 4, { agent_id }));
    await tail.until(() => events().length === 3);
    await api.finalizeTrace(trace_id, { status: "error", ended_at: at(5) });
    await tail.until(() => events().length === 4);
    tail.child.kill("SIGINT");
    expect(await tail.ended).toBe(130);
    expect(events()).toMatchObject([
      { event: "new", name: "old 2", status: "running" },
      { event: "new", name: "old 3" },
      { event: "new", id: trace_id, status: "running", duration_ms: null },
      { event: "changed", id: trace_id, status: "error", duration_ms: 1_000 },
    ]);
    expect(tail.errors()).toBe("");
  });

  it("goes on after the service was restarted, and ends when nobody reads any more", async () => {
    const first = await startApp("trace-api", database.url);
    const agent_id = randomUUID();
    const { trace_id } = await api.createTrace(newTrace("before", 1, { agent_id }));
    const tail = startTail(["--agent", agent_id], first.url);
    await tail.until(() => tail.lines().length === 1);
    await first.kill();
    await tail.until(() => /cannot be reached: .* Asking again\.\n/.test(tail.errors()));
    await api.finalizeTrace(trace_id, { status: "success", ended_at: at(2) });
    await startApp("trace-api", database.url, { TRACE_API_PORT: new URL(first.url).port });
    await tail.until(() => tail.lines().length === 2);
    expect(tail.lines()[1]).toMatch(
      /^2026-06-01T12:00:02.000Z {2}success +1 s {2}[0-9a-f-]{36} {2}[0-9a-f-]{15}… {2}before$/,
    );
    // Another pipe than that of the lines.
    await tail.until(() => /Asking again\.\nThe trace API answers again\.\n$/.test(tail.errors()));
    tail.child.stdout.destroy();
    for (let n = 0; n < 3; n++) await api.createTrace(newTrace(`after ${n}`, 3 + n, { agent_id }));
    expect(await tail.ended).toBe(0);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { LocalSystem } from "@waymark/cli";
import { built, isNightly } from "@waymark/testing";
import pg from "pg";
import { isPortFree } from "./ports.js";
import { isRunning } from "./processes.js";

const bin = fileURLToPath(built(new URL("../dist/main.js", import.meta.url)));
const startBin = fileURLToPath(new URL("../bin/start.mjs", import.meta.url));
const devBin = fileURLToPath(new URL("../bin/dev.mjs", import.meta.url));
const cli = fileURLToPath(new URL("../../cli/bin/waymark.mjs", import.meta.url));

const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`;

let dataFolder: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  dataFolder = join(await mkdtemp(join(tmpdir(), "waymark start-")), "data");
});
async function endAll() {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}
afterAll(() => rm(join(dataFolder, ".."), { recursive: true, force: true }));

interface Started {
  child: ChildProcess;
  output(): string;
  exit: Promise<number | null>;
}

/** A shell as a launcher above the program, as of `pnpm start`. */
const throughShell = ["sh", "-c", `: pnpm start; "$0" "$@"; :`];

/** Runs a program of ours on the test's data folder. */
function run(file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}, launcher: string[] = []): Started {
  const base = { PATH: path, WAYMARK_DATA_DIR: dataFolder };
  const ports = { TRACE_API_PORT: "0", ANALYTICS_API_PORT: "0", COLLECTOR_PORT: "0", DASHBOARD_PORT: "0" };
  const [command = "", ...before] = [...launcher, process.execPath, file];
  const child = spawn(command, [...before, ...args], { env: { ...base, ...ports, ...env }, stdio: "pipe" });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const exit = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return { child, output: () => output, exit };
}

async function until(condition: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  for (let i = 0; i < 4_000; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`It did not come to pass within 200 s. ${what()}`);
}

async function start(env: NodeJS.ProcessEnv = {}, file = bin, launcher: string[] = [], args: string[] = []) {
  const started = run(file, args, env, launcher);
  await until(() => /Ctrl-C stops/.test(started.output()) || started.child.exitCode !== null, started.output);
  expect(started.output()).toMatch(/Ctrl-C stops/);
  const system = JSON.parse(await readFile(join(dataFolder, "local.json"), "utf8")) as LocalSystem;
  return { ...started, system };
}

const keyIn = (output: string, plan: string, service: string) =>
  new RegExp(`${plan} +account[\\s\\S]*?${service} +(wmk_\\S+)`).exec(output)?.[1] ?? "";

const keysIn = (output: string) => [keyIn(output, "pro", "trace"), keyIn(output, "free", "analytics")];

/** Sends a visit to the site of the printed script tag, as a browser would. */
async function visit(output: string) {
  const [, script = "", domain = ""] = /<script defer src="(\S+)" data-domain="(\S+)">/.exec(output) ?? [];
  expect((await fetch(script)).headers.get("content-type")).toMatch(/javascript/);
  const answer = await fetch(new URL("/api/event", script), {
    method: "POST",
    headers: { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0" },
    body: JSON.stringify({ n: "pageview", u: `https://${domain}/`, d: domain }),
  });
  expect([answer.status, answer.headers.get("x-waymark-dropped")]).toEqual([202, null]);
}

async function stop({ child, exit }: Started, signal: NodeJS.Signals) {
  child.kill(signal);
  return exit;
}

const mails = () => readdir(join(dataFolder, "mails")).catch(() => []);

/** Uses everything of the services through their own interfaces. */
async function useAll(output: string, urls: readonly string[]) {
  const [traceUrl = "", analyticsUrl = ""] = urls;
  const ask = async (
    key: string,
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(url, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect([method, url, answer.status < 300, answer.ok ? "" : text]).toEqual([method, url, true, ""]);
    return JSON.parse(text);
  };
  const trace = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(keyIn(output, "pro", "trace"), method, `${traceUrl}${path}`, body, headers);
  const started_at = new Date().toISOString();
  const run = { agent_id: "smoke", name: "a run", status: "running", started_at };
  const span = { name: "a step", status: "ok", started_at };
  const once = { "Idempotency-Key": "least-power" };
  const { trace_id } = await trace("POST", "/api/v1/traces", run, once);
  expect(await trace("POST", "/api/v1/traces", run, once)).toEqual({ trace_id });
  const path = `/api/v1/traces/${trace_id}`;
  const { span_id } = await trace("POST", `${path}/spans`, span);
  await trace("POST", `${path}/spans`, span, { "Idempotency-Key": "least-power-span" });
  await trace("POST", `${path}/spans/batch`, { spans: [span, span] });
  await trace("PATCH", `${path}/spans/${span_id}`, { status: "error", error: "no" });
  const nanos = `${Date.now()}000000`;
  const otlp = { traceId: "0af7651916cd43dd8448eb211c80319c", startTimeUnixNano: nanos, endTimeUnixNano: nanos };
  const spans = [
    { ...otlp, spanId: "b7ad6b7169203331", name: "root", status: { code: 2 } },
    { ...otlp, spanId: "b7ad6b7169203332", parentSpanId: "b7ad6b7169203331", name: "child" },
  ];
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "smoke" } }] };
  for (const part of spans) {
    await trace("POST", "/v1/traces", { resourceSpans: [{ resource, scopeSpans: [{ spans: [part] }] }] });
  }
  await trace("PATCH", path, { status: "error", ended_at: started_at });
  const paths = [path, `${path}?include=attributes`, "/api/v1/traces", "/api/v1/traces?name=run&status=error"];
  for (const it of [...paths, "/api/v1/agents", "/api/v1/usage"]) await trace("GET", it);
  const { models } = await trace("GET", "/api/v1/usage/models");
  expect(models.map(({ model }: { model: string }) => model)).toEqual(
    expect.arrayContaining(["gpt-4o", "gpt-4o-mini"]),
  );
  await trace("DELETE", path);
  // No agent ends this trace; the worker does.
  const silent = await trace("POST", "/api/v1/traces", run);
  const stats = (it: string) => ask(keyIn(output, "pro", "analytics"), "GET", `${analyticsUrl}/api/v1/sites${it}`);
  const { sites } = await stats("");
  for (const it of ["stats?interval=day&compare=previous", "events", "realtime"]) await stats(`/${sites[0].id}/${it}`);
  await visit(output);
  await until(
    async () => (await trace("GET", `/api/v1/traces/${silent.trace_id}`)).status === "timeout",
    () => output,
  );
}

/** What the dashboard's pages read of the account, and of each kind of thing. */
const accountReads = ["me", "me/sessions", "people", "audit", "keys", "billing", "usage"];
const agentReads = ["agents", "agent-durations", "agents/support-bot", "alerts", "alerts/unsent"];
const siteReads = ["stats?range=30d", "events?range=30d", "realtime"];

/** Signs in by the printed link, which works once, and reads every page's data with the dashboard's own role. */
async function useDashboard(output: string) {
  const [, origin = "", token = ""] = /(http:\S+)\/dashboard\/link\/(\S+)/.exec(output) ?? [];
  const use = () =>
    fetch(`${origin}/dashboard/api/link`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: origin },
      body: JSON.stringify({ token }),
    });
  const signedIn = await use();
  expect(signedIn.status).toBe(200);
  expect((await use()).status).toBe(410);
  const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const read = async (path: string) => {
    const answer = await fetch(`${origin}/dashboard/api/${path}`, { headers: { Cookie: cookie } });
    const text = await answer.text();
    expect([path, answer.status, answer.ok ? "" : text]).toEqual([path, 200, ""]);
    return JSON.parse(text);
  };
  for (const path of [...accountReads, ...agentReads, "traces/agents"]) await read(path);
  const [{ id: siteId }] = (await read("sites")).sites;
  for (const path of siteReads) await read(`sites/${siteId}/${path}`);
  const [{ id: traceId }] = (await read("traces?agent_id=support-bot")).traces;
  await read(`traces/changes?after=${traceId}&ids=${traceId}`);
  await read(`traces/${traceId}/export`);
  const outline = await read(`traces/${traceId}/outline`);
  await read(`traces/${traceId}/spans/${outline.id[0]}`);
}

describe("start, again and again on the same data", () => {
  let keys: string[];
  afterEach(endAll);

  it("runs everything, mails a failed trace, and stops on Ctrl-C with nothing left", async () => {
    const first = await start();
    expect((await stat(join(dataFolder, "roles.json"))).mode & 0o777).toBe(0o600);
    const { system } = first;
    const output = first.output();
    const order = [
      "Waymark runs.",
      "/dashboard/link/",
      "trace API",
      "Demo keys:",
      "Paste these:",
      "<script",
      "Ctrl-C stops",
    ].map((text) => output.indexOf(text));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(output).not.toMatch(
      /warn(?!: (?:the event loop was held|queue is down: .*timeout|a periodic job failed.*connection timeout))/i,
    );
    const [, dashboard = ""] = /dashboard +(http:\/\/127\.0\.0\.1:\d+)\/dashboard\/link\/[\w-]{43} /.exec(output) ?? [];
    for (const api of system.urls?.slice(0, 2) ?? []) {
      const { status, headers } = await fetch(`${api}/dashboard/billing?x=1`, { redirect: "manual" });
      expect([status, headers.get("location")]).toEqual([302, `${dashboard}/dashboard/billing?x=1`]);
    }

    const lines = output.split("\n").filter((line) => /^ {2}(TRACE=\$\()?curl /.test(line));
    expect(lines.length).toBeGreaterThanOrEqual(6);
    const shell = spawn("sh", ["-c", lines.join(" && echo && ")], { stdio: "pipe" });
    let pasted = "";
    shell.stdout.on("data", (chunk) => (pasted += chunk));
    await once(shell, "close");
    const answers = pasted
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(answers[0].pageviews).toBeGreaterThan(2_000);
    expect(answers[1].events[0].name).toBe("Download");
    expect(answers.at(-1)).toMatchObject({
      status: "error",
      ended_at: expect.any(String),
      spans: [{ error: "connection refused", ended_at: expect.any(String) }],
    });
    await visit(output);
    // Three for the demo's newest failures, one for the pasted trace.
    await until(async () => (await mails()).length === 4, first.output);
    await until(() => /mail to demo-pro@waymark.localhost/.test(first.output()), first.output);

    const accounts = run(cli, ["account", "list", "--json"]);
    expect(await accounts.exit).toBe(0);
    expect(JSON.parse(accounts.output())).toEqual([
      expect.objectContaining({ email: "demo-free@waymark.localhost", plan: "free" }),
      expect.objectContaining({ email: "demo-pro@waymark.localhost", plan: "pro" }),
    ]);

    const owner = new pg.Client({ connectionString: system.databaseUrl });
    await owner.connect();
    await owner.query("UPDATE span SET written_at = now() - interval '2 days'");
    const { rows } = await owner.query(
      "UPDATE trace SET written_at = now() - interval '2 days' WHERE status = 'running' RETURNING id",
    );
    expect(rows).toHaveLength(1);
    await owner.end();
    expect(await stop(first, "SIGINT")).toBe(0);
    expect(system.apps).toHaveLength(5);
    for (const app of system.apps ?? []) expect(isRunning(app)).toBe(false);
    expect(await readdir(join(dataFolder, "postgres", "data"))).not.toContain("postmaster.pid");
    keys = keysIn(output);
  });

  it("runs from the sources with `dev`, and keeps its data", async () => {
    const started = await start({}, devBin);
    const url = started.system.urls?.[0] ?? "";
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    expect(keysIn(started.output())).toEqual(keys);
    // The demo's trace that nobody ended.
    await until(async () => (await mails()).length === 5, started.output);
    expect(await stop(started, "SIGTERM")).toBe(0);
    expect((started.system.apps ?? []).filter(isRunning)).toEqual([]);
  });

  it("stops on the first SIGTERM before it is ready", async () => {
    const begun = run(bin);
    const system = () => readFile(join(dataFolder, "local.json"), "utf8").then(JSON.parse, () => ({}));
    await until(async () => (await system()).apps, begun.output);
    const { apps } = (await system()) as LocalSystem;
    expect(await stop(begun, "SIGTERM")).toBe(0);
    expect((apps ?? []).filter(isRunning)).toEqual([]);
  });

  it("names every wrong variable and every taken port, and leaves nothing running", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const refused = run(bin, [], { ANALYTICS_API_PORT: String(port), LOG_LEVEL: "loud" });
    expect(await refused.exit).toBe(2);
    expect(refused.output()).toBe(
      `LOG_LEVEL must be one of: trace, debug, info, warn, error, fatal, silent\nPort ${port} is taken by another process. Set ANALYTICS_API_PORT to another port.\n`,
    );
    other.close();
    expect(await readdir(dataFolder)).not.toContain("local.json");
  });

  it("runs each service by a role of its own, which suffices, and stops when the command that started it is gone", async () => {
    const hasty = { TRACE_STALE_AFTER: "1s", SWEEP_INTERVAL_SECONDS: "1" };
    const { child, output, system } = await start(hasty, bin, throughShell);
    const { databaseUrl = "", urls = [] } = system;
    await useAll(output(), urls);
    await useDashboard(output());
    const owner = new pg.Client({ connectionString: databaseUrl });
    await owner.connect();
    const { rows } = await owner.query(
      "SELECT DISTINCT usename AS name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([
      "waymark_analytics_api",
      "waymark_collector",
      "waymark_dashboard",
      "waymark_trace_api",
      "waymark_worker",
    ]);
    await owner.query("SELECT ensure_event_partition('2020-01-01')");
    await owner.end();
    child.kill("SIGKILL");
    await until(() => ![system, ...(system.apps ?? [])].some(isRunning), output);
    expect(await readdir(dataFolder)).not.toContain("local.json");
  });
});

/** Makes a process throw where nobody catches, on a signal. */
const planted = {
  NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('planted')})",
};

const areUsualPortsFree = (await Promise.all([4_100, 4_318].map(isPortFree))).every(Boolean);
const itOnUsualPorts = areUsualPortsFree ? it : it.skip; // Another system on this machine has them.

describe("a running system, which logs warnings alone", () => {
  let running: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    const port = { TRACE_API_PORT: areUsualPortsFree ? "4100" : "0" };
    running = await start({ LOG_LEVEL: "warn", EVENT_RETENTION_MONTHS: "3", ...port });
  });
  afterAll(endAll);

  itOnUsualPorts("takes OpenTelemetry on its usual port, beside the trace API's own", async () => {
    expect(running.output()).toContain("OpenTelemetry  http://127.0.0.1:4318");
    const headers = {
      Authorization: `Bearer ${keyIn(running.output(), "pro", "trace")}`,
      "Content-Type": "application/json",
    };
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "usual-port" } }] };
    const ids = { traceId: "1af7651916cd43dd8448eb211c80319c", spanId: "c7ad6b7169203331" };
    const span = {
      ...ids,
      name: "root",
      startTimeUnixNano: `${Date.now()}000000`,
      endTimeUnixNano: `${Date.now()}000000`,
    };
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
    expect((await fetch("http://127.0.0.1:4318/v1/traces", { method: "POST", headers, body })).status).toBe(200);
    const listed = await fetch("http://127.0.0.1:4100/api/v1/traces?agent_id=usual-port", { headers });
    expect(await listed.json()).toMatchObject({ traces: [{ name: "root" }] });
  });

  it("drops a month of old events, and no role lacked a right since the first start", async () => {
    const client = new pg.Client({ connectionString: running.system.databaseUrl });
    await client.connect();
    await until(
      async () => (await client.query("SELECT to_regclass('event_202001') IS NULL AS gone")).rows[0].gone,
      running.output,
    );
    await client.end();
    const logs = (await readdir(join(dataFolder, "logs"))).map((name) => join(dataFolder, "logs", name));
    for (const log of [...logs, join(dataFolder, "postgres", "postgres.log")]) {
      expect(await readFile(log, "utf8")).not.toMatch(/permission denied|must be owner/);
    }
  });

  it("refuses a second start beside a running one, before it builds, and goes on", async () => {
    const command = run(startBin, [], { WAYMARK_DATA_DIR: dataFolder });
    expect(await command.exit).toBe(2);
    expect(command.output()).toMatch(/^Waymark is running already \(process \d+, at http/);
    expect(await run(bin, ["--running"]).exit).toBe(3);
    const second = run(bin);
    expect(await second.exit).toBe(2);
    expect(second.output()).toMatch(/^Waymark is running already \(process \d+, at http/);
    expect((await fetch(`${running.system.urls?.[0]}/health`)).status).toBe(200);
  });

  it("after a kill its apps end by themselves, and the next start recovers", async () => {
    const { system, output } = running;
    await stop(running, "SIGKILL");
    await until(() => (system.apps ?? []).every((app) => !isRunning(app)), output);
    running = await start(planted);
    expect(running.output()).toMatch(/Took over the Postgres/);
  });

  it("ends with the cause of an error that nothing caught, and leaves nothing running", async () => {
    expect(new Set(running.system.apps?.map(({ pid }) => pid))).toEqual(new Set([running.child.pid]));
    expect(await stop(running, "SIGUSR2")).toBe(1);
    expect(running.output()).toMatch(/An error that nothing caught ended Waymark.\nError: planted\n +at /);
    expect(await readdir(dataFolder)).not.toContain("local.json");
    expect(await readdir(join(dataFolder, "postgres", "data"))).not.toContain("postmaster.pid");
  });

  const itAtNight = isNightly ? it : it.skip; // Chaos kills apps and Postgres of such a system in each run of CI.
  itAtNight("with processes starts a killed app and a killed Postgres again; the others keep running", async () => {
    running = await start({}, bin, [], ["--processes"]);
    const [traceUrl = "", analyticsUrl = ""] = running.system.urls ?? [];
    const apps = running.system.apps ?? [];
    process.kill(apps.find(({ name }) => name === "trace-api")?.pid ?? 0, "SIGKILL");
    await until(() => /trace-api: runs again/.test(running.output()), running.output);
    expect((await fetch(`${traceUrl}/ready`)).status).toBe(200);
    const now = JSON.parse(await readFile(join(dataFolder, "local.json"), "utf8")) as LocalSystem;
    const isReplaced = (name: string) =>
      now.apps?.find((it) => it.name === name)?.pid !== apps.find((it) => it.name === name)?.pid;
    expect(apps.map(({ name }) => [name, isReplaced(name)])).toEqual(
      apps.map(({ name }) => [name, name === "trace-api"]),
    );
    const pid = Number((await readFile(join(dataFolder, "postgres/data/postmaster.pid"), "utf8")).split("\n")[0]);
    process.kill(pid, "SIGKILL");
    await until(() => /Postgres runs again/.test(running.output()), running.output);
    const isReady = async (url: string) => (await fetch(`${url}/ready`)).status === 200;
    await until(async () => (await isReady(traceUrl)) && (await isReady(analyticsUrl)), running.output);
    expect(await stop(running, "SIGTERM")).toBe(0);
    expect((now.apps ?? []).filter(isRunning)).toEqual([]);
  });
});

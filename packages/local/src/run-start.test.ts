import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { LocalSystem } from "@waymark/cli";
import { isRunning } from "./processes.js";

const bin = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const cli = fileURLToPath(new URL("../../cli/bin/waymark.mjs", import.meta.url));

const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`;

let dataFolder: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  dataFolder = join(await mkdtemp(join(tmpdir(), "waymark start-")), "data");
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
});
afterAll(() => rm(join(dataFolder, ".."), { recursive: true, force: true }));

interface Started {
  child: ChildProcess;
  output(): string;
  exit: Promise<number | null>;
}

/** Runs a program of ours on the test's data folder. */
function run(file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): Started {
  const base = { PATH: path, WAYMARK_DATA_DIR: dataFolder };
  const ports = { TRACE_API_PORT: "0", ANALYTICS_API_PORT: "0", COLLECTOR_PORT: "0" };
  const child = spawn(process.execPath, [file, ...args], { env: { ...base, ...ports, ...env }, stdio: "pipe" });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const exit = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return { child, output: () => output, exit };
}

async function until(condition: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`It did not come to pass within 30 s. ${what()}`);
}

async function start(env: NodeJS.ProcessEnv = {}) {
  const started = run(bin, [], env);
  await until(() => /Ctrl-C stops/.test(started.output()) || started.child.exitCode !== null, started.output);
  expect(started.output()).toMatch(/Ctrl-C stops/);
  const system = JSON.parse(await readFile(join(dataFolder, "local.json"), "utf8")) as LocalSystem;
  return { ...started, system };
}

const keyIn = (output: string, plan: string, service: string) =>
  new RegExp(`${plan} +account[\\s\\S]*?${service} +(wmk_\\S+)`).exec(output)?.[1] ?? "";

/** Reports a visit to the site of the script tag that was shown, as a browser would. */
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

describe("start", () => {
  it("runs everything, mails a failed run, keeps its data, and stops on Ctrl-C with nothing left", async () => {
    const first = await start();
    const { system } = first;
    const output = first.output();
    const order = ["Waymark runs.", "Demo keys:", "Paste these:", "<script", "Ctrl-C stops"].map((text) =>
      output.indexOf(text),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(output).not.toMatch(/warn/i);

    // The lines to paste, pasted.
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
    expect(answers[0].pageviews).toBeGreaterThan(700);
    expect(answers[1].events[0].name).toBe("Download");
    expect(answers.at(-1)).toMatchObject({ status: "error", spans: [{ error: "connection refused" }] });
    await visit(output);
    await until(async () => (await mails()).length === 1, first.output);
    await until(() => /mail to demo-pro@localhost/.test(first.output()), first.output);

    const accounts = run(cli, ["account", "list", "--json"]);
    expect(await accounts.exit).toBe(0);
    expect(JSON.parse(accounts.output())).toEqual([
      expect.objectContaining({ email: "demo-free@localhost", plan: "free" }),
      expect.objectContaining({ email: "demo-pro@localhost", plan: "pro" }),
    ]);

    expect(await stop(first, "SIGINT")).toBe(0);
    expect(system.apps).toHaveLength(4);
    for (const app of system.apps ?? []) expect(isRunning(app)).toBe(false);
    expect(await readdir(join(dataFolder, "postgres", "data"))).not.toContain("postmaster.pid");

    const second = await start();
    expect(keyIn(second.output(), "pro", "trace")).toBe(keyIn(output, "pro", "trace"));
    expect(keyIn(second.output(), "free", "analytics")).toBe(keyIn(output, "free", "analytics"));
    expect(await stop(second, "SIGTERM")).toBe(0);
  }, 120_000);

  it("refuses a second start beside a running one, and goes on", async () => {
    const first = await start();
    const second = run(bin);
    expect(await second.exit).toBe(2);
    expect(second.output()).toMatch(/^Waymark is running already \(process \d+, at http/);
    expect((await fetch(`${first.system.urls?.[0]}/health`)).status).toBe(200);
  }, 60_000);

  it("names the variable of a taken port, and leaves nothing running", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const refused = run(bin, [], { ANALYTICS_API_PORT: String(port) });
    expect(await refused.exit).toBe(2);
    expect(refused.output()).toBe(
      `Port ${port} is taken by another process. Set ANALYTICS_API_PORT to another port.\n`,
    );
    other.close();
    expect(await readdir(dataFolder)).not.toContain("local.json");
  }, 60_000);

  it("after a kill its apps end by themselves, and the next start recovers", async () => {
    const killed = await start();
    await stop(killed, "SIGKILL");
    await until(() => (killed.system.apps ?? []).every((app) => !isRunning(app)), killed.output);
    const next = await start();
    expect(next.output()).toMatch(/Took over the Postgres/);
    expect(await stop(next, "SIGINT")).toBe(0);
  }, 90_000);

  it("stops when the command that started it is gone", async () => {
    const base = {
      PATH: path,
      WAYMARK_DATA_DIR: dataFolder,
      TRACE_API_PORT: "0",
      ANALYTICS_API_PORT: "0",
      COLLECTOR_PORT: "0",
    };
    const shell = spawn("sh", ["-c", `: pnpm start; "$0" "$1"; :`, process.execPath, bin], {
      env: base,
      stdio: "pipe",
    });
    let output = "";
    shell.stdout.on("data", (chunk) => (output += chunk));
    await until(
      () => /Ctrl-C stops/.test(output),
      () => output,
    );
    const system = JSON.parse(await readFile(join(dataFolder, "local.json"), "utf8")) as LocalSystem;
    shell.kill("SIGKILL");
    await until(
      () => ![system, ...(system.apps ?? [])].some(isRunning),
      () => output,
    );
    expect(await readdir(dataFolder)).not.toContain("local.json");
  }, 60_000);
});

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient, createApiClient } from "@waymark/client";
import { built, useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { anyLibrary, libraries, variablesOf } from "../init/libraries.js";

const run = promisify(execFile);
const database = useDatabase();
const startApp = useProcesses();
const accounts = createCommandLine({ DATABASE_URL: database.url });
const pathOf = (fromRoot: string) => fileURLToPath(new URL(`../../../../${fromRoot}`, import.meta.url));
let url: string;
let key: string;
let api: ApiClient;
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "waymark-init-"));
  ({ url } = await startApp("trace-api", database.url, { DASHBOARD_URL: "https://pages.example" }));
  await useAccount("pro");
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function useAccount(plan: string): Promise<void> {
  const email = `${randomUUID()}@example.com`;
  await accounts.json("account", "create", "--email", email, "--plan", plan);
  const args = ["key", "create", "--account", email, "--service", "trace", "--scope", "all", "--name", "test"];
  ({ key } = await accounts.json<{ key: string }>(...args));
  api = createApiClient({ url, key });
}

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await mkdtemp(join(root, "app-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}

const manifest = (...packages: string[]) =>
  JSON.stringify({
    name: "@acme/bot",
    type: "module",
    dependencies: Object.fromEntries(packages.map((it) => [it, "*"])),
  });

interface Begun {
  runtime: string;
  libraries: string[];
  install: string;
  steps: { title: string; where: string; lines: string[]; places: string[] }[];
  env: { added: string[]; ignored: boolean | null };
  trace_id: string;
  link: string;
}

const cli = (env: Record<string, string> = { WAYMARK_TRACE_KEY: key, WAYMARK_TRACE_URL: url }) =>
  createCommandLine(env);
const init = (path: string, ...more: string[]) => cli().json<Begun>("init", "--dir", path, "--yes", ...more);

const sources = {
  "src/agent.ts": 'import OpenAI from "openai";\n\nconst client = new OpenAI();\n',
  "node_modules/x/index.js": "new OpenAI()",
};

describe("waymark init", () => {
  it.each<[string, Record<string, string>, Partial<Begun>, string[]]>([
    [
      "OpenAI",
      { "package.json": manifest("openai"), ...sources },
      { install: "npm install ./waymark-client-0.1.0.tgz" },
      ["OpenAI"],
    ],
    [
      "the AI SDK",
      { "package.json": manifest("ai"), "pnpm-lock.yaml": "" },
      { install: "pnpm add ./waymark-client-0.1.0.tgz" },
      ["AI SDK"],
    ],
    [
      "LangGraph and Anthropic",
      { "package.json": manifest("@langchain/langgraph", "@anthropic-ai/sdk") },
      {},
      ["Anthropic", "LangChain and LangGraph"],
    ],
    ["Mastra", { "package.json": manifest("@mastra/core") }, {}, ["Mastra"]],
    [
      "OpenAI in Python",
      { "requirements.txt": "openai>=1.0  # models\nhttpx\n", "app/main.py": "client = OpenAI()\n" },
      { install: "pip install ./packages/client-python" },
      ["OpenAI"],
    ],
    [
      "Pydantic AI in Python",
      {
        "pyproject.toml": '[project]\nname = "acme-bot"\ndependencies = ["pydantic_ai[openai]>=1", "x"]\n',
        "uv.lock": "",
      },
      { install: "uv add ./packages/client-python" },
      ["Pydantic AI and Logfire"],
    ],
  ])("takes an application with %s to its first run", async (_, files, expected, found) => {
    const path = await folder(files);
    const begun = await cli().json<Begun>("init", "--dir", path, "--yes");
    expect(begun).toMatchObject({ ...expected, libraries: found });
    expect(begun.link).toBe(`https://pages.example/dashboard/traces/${begun.trace_id}`);
    expect(await api.getTrace(begun.trace_id)).toMatchObject({ status: "success", spans: [{ name: "waymark init" }] });
    const env = await readFile(join(path, ".env"), "utf8");
    expect(env).toContain(`WAYMARK_TRACE_URL=${url}\nWAYMARK_TRACE_KEY=${key}\n`);
    expect((await stat(join(path, ".env"))).mode & 0o777).toBe(0o600);
    for (const [name, text] of Object.entries(files)) expect(await readFile(join(path, name), "utf8")).toBe(text);
  });

  it("shows the lines and where they go, and only changes .env after a yes", async () => {
    const path = await folder({ "package.json": manifest("openai"), ...sources });
    const { stdout, code } = await cli().run(["init", "--dir", path]);
    expect(code).toBe(0);
    expect(stdout).toContain('createWaymark({ agentId: "bot" });');
    expect(stdout).toContain("OpenAI, in place of the client (src/agent.ts:3)\n");
    expect(stdout).toContain('import { wrapOpenAI } from "@waymark/client/openai";\n    wrapOpenAI(new OpenAI())\n');
    expect(stdout).toContain(`Not added: WAYMARK_TRACE_URL, WAYMARK_TRACE_KEY to ${join(path, ".env")}.\n`);
    expect(stdout).not.toContain(key);
    await expect(stat(join(path, ".env"))).rejects.toThrow("ENOENT");
    const before = (await api.listTraces()).traces.length;
    const printed = await cli({}).run(["init", "--dir", path, "--print"]);
    expect(printed.stdout).toContain(
      ".env:\n    WAYMARK_TRACE_URL=http://127.0.0.1:4100\n    WAYMARK_TRACE_KEY=wmk_trace_…\n",
    );
    const masked = await cli().json<{ env: string[] }>("init", "--dir", path, "--print");
    expect(masked.env[1]).toBe(`WAYMARK_TRACE_KEY=wmk_trace_…${key.slice(-4)}`);
    expect((await api.listTraces()).traces).toHaveLength(before);
  });

  it("keeps what .env has, adds on a new line, and refuses other values", async () => {
    const mine = `A="1"\nexport WAYMARK_TRACE_URL='${url}'`;
    const path = await folder({ "package.json": manifest("openai"), ".env": mine });
    await chmod(join(path, ".env"), 0o644);
    expect((await init(path)).env.added).toEqual(["WAYMARK_TRACE_KEY"]);
    const text = `${mine}\nWAYMARK_TRACE_KEY=${key}\n`;
    expect(await readFile(join(path, ".env"), "utf8")).toBe(text);
    // The key of .env is enough from now on, and nothing is added twice.
    const again = await cli({}).json<Begun>("init", "--dir", path, "--yes");
    expect(again.env.added).toEqual([]);
    expect((await cli({}).run(["init", "--dir", path, "--yes"])).stdout).toContain(".env has all it needs.");
    const other = await cli({ WAYMARK_TRACE_KEY: `${key.slice(0, -1)}_` }).run(["init", "--dir", path, "--yes"]);
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has other values of WAYMARK_TRACE_KEY, and stays"),
    });
    expect(await readFile(join(path, ".env"), "utf8")).toBe(text);
  });

  it("says when git does not ignore .env", async () => {
    const path = await folder({ "package.json": manifest("openai") });
    await run("git", ["init", "--quiet"], { cwd: path });
    expect((await init(path)).env.ignored).toBe(false);
    expect((await cli().run(["init", "--dir", path, "--yes"])).stdout).toContain("add a line .env to .gitignore");
    await writeFile(join(path, ".gitignore"), ".env\n");
    expect((await init(path)).env.ignored).toBe(true);
  });

  it("sets OpenTelemetry's variables for what sends by it", async () => {
    const path = await folder({
      "package.json": manifest("@anthropic-ai/claude-agent-sdk", "@opentelemetry/sdk-node"),
    });
    const { steps, env } = await init(path);
    expect(steps.map(({ lines }) => lines)).toEqual([[], []]);
    expect(env.added).toEqual(expect.arrayContaining(["OTEL_EXPORTER_OTLP_HEADERS", "CLAUDE_CODE_ENABLE_TELEMETRY"]));
  });

  it("names a folder without a manifest, a missing key, a refused one", async () => {
    const [empty, plain] = [await folder({ "a.txt": "" }), await folder({ "package.json": "{}" })];
    expect((await cli().run(["init", "--dir", empty])).stderr).toContain("has no package.json, requirements.txt or");
    const nothing = await cli({ WAYMARK_DATA_DIR: empty }).run(["init", "--dir", plain, "--yes"]);
    expect(nothing).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("A key is needed to send") });
    expect(nothing.stderr).toContain("observe(fn, { name })");
    const refused = await cli({ WAYMARK_TRACE_URL: url, WAYMARK_TRACE_KEY: "wmk_trace_x" }).run([
      "init",
      "--dir",
      plain,
    ]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("The trace API refuses this key") });
    expect(await cli().run(["init", "--yes", "--print"])).toMatchObject({ code: 2 });
  });

  it("has the lines and variables that the documents have", async () => {
    const documents = await Promise.all(
      ["packages/client/README.md", "packages/client-python/README.md", "apps/trace-api/SENDERS.md"].map((name) =>
        readFile(pathOf(name), "utf8"),
      ),
    );
    const [typescript = "", python = "", senders = ""] = documents;
    expect(typescript).toContain("`npm install ./waymark-client-0.1.0.tgz`");
    expect(python).toContain("\npip install ./packages/client-python\n");
    for (const { way, line, imports } of [...libraries.node, anyLibrary.node]) {
      if (line?.startsWith("observe")) expect(typescript).toContain("`observe(fn, {name,");
      else if (way === "sdk") expect(typescript).toMatch(rowOf(/"(.+)"/.exec(imports ?? "")?.[1] ?? "", line ?? ""));
      else if (line !== undefined) expect(senders).toContain(`\n${line}\n`);
    }
    for (const { way, line } of [...libraries.python, anyLibrary.python])
      if (line !== undefined) expect(way === "sdk" ? python : senders).toContain(`\n${line}\n`);
    const service = { url: "https://your-trace-domain", key: "wmk_trace_…" };
    for (const [name, value] of Object.entries(variablesOf("claude", service))) {
      if (!name.startsWith("WAYMARK"))
        expect(senders.replaceAll('"', "")).toContain(`${name}=${value.replace("%20", " ")}`);
    }
  });
});

const rowOf = (...cells: string[]) =>
  new RegExp(cells.map((cell) => `\\| \`${cell.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\` +`).join(""));

describe("the printed lines", () => {
  let model: Server;
  beforeAll(async () => {
    // Its one agent is that of the first run and of the lines.
    await useAccount("free");
    const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
    const choices = [{ index: 0, message: { role: "assistant", content: "Sunny." }, finish_reason: "stop" }];
    model = createServer((request, response) => {
      request.resume();
      response.setHeader("Content-Type", "application/json");
      response.end(
        JSON.stringify({ id: "c1", object: "chat.completion", created: 1, model: "gpt-4o", choices, usage }),
      );
    });
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void model.close());

  it.each([
    [
      "OpenAI",
      "openai",
      'import OpenAI from "openai";',
      (line: string) =>
        `const client = ${line};\nawait client.chat.completions.create({ model: "gpt-4o", messages: [{ role: "user", content: "Weather?" }] });`,
    ],
    [
      "AI SDK",
      "ai",
      'import { createOpenAI } from "@ai-sdk/openai";\nimport { generateText, wrapLanguageModel } from "ai";\nconst model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat("gpt-4o");',
      (line: string) => `await generateText({ model: ${line}, prompt: "Weather?" });`,
    ],
  ])("record a call of %s to the first run", async (title, name, imports, use) => {
    const path = await folder({ "package.json": manifest(name) });
    const { steps } = await init(path);
    const own = steps.find((step) => step.title === title)?.lines ?? [];
    const [from = "", line = ""] = own;
    const program = [imports, from, ...(steps[0]?.lines ?? []), use(line)].join("\n");
    await writeFile(join(path, "main.mjs"), program);
    built(new URL("../../../client/dist/index.js", import.meta.url));
    await mkdir(join(path, "node_modules/@waymark"), { recursive: true });
    for (const it of ["ai", "openai", "@ai-sdk"])
      await symlink(pathOf(`packages/client/node_modules/${it}`), join(path, "node_modules", it));
    await symlink(pathOf("packages/client"), join(path, "node_modules/@waymark/client"));
    const { port } = model.address() as AddressInfo;
    const env = {
      PATH: dirname(process.execPath),
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    };
    await run(process.execPath, ["--env-file=.env", "main.mjs"], { cwd: path, env });
    const { traces } = await api.listTraces({ agent_id: "bot", name: "chat gpt-4o" });
    const trace = await api.getTrace(traces[0]?.id ?? "", { include: "usage" });
    expect(trace).toMatchObject({ status: "success", usage: { input_tokens: 12, output_tokens: 5 } });
    await api.deleteTrace(trace.id);
  });
});

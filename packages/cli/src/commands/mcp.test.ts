import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createApiClient } from "@waymark/client";
import { useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const bin = fileURLToPath(new URL("../../bin/waymark.mjs", import.meta.url));
const database = useDatabase();
const startApp = useProcesses();
const clients: Client[] = [];
let env: Record<string, string>;
afterAll(() => Promise.all(clients.map((client) => client.close())));

beforeAll(async () => {
  const cli = createCommandLine({ DATABASE_URL: database.url });
  const { id } = await cli.json<{ id: string }>("account", "create", "--email", "mcp@example.com", "--plan", "pro");
  const newKey = async (service: string) =>
    (await cli.json<{ key: string }>("key", "create", "--account", id, "--service", service, "--name", "test")).key;
  await cli.json("site", "create", "--account", id, "--domain", "example.com", "--name", "Example");
  const [traces, statistics] = [
    await startApp("trace-api", database.url),
    await startApp("analytics-api", database.url),
  ];
  env = {
    WAYMARK_TRACE_URL: traces.url,
    WAYMARK_TRACE_KEY: await newKey("trace"),
    WAYMARK_STATS_URL: statistics.url,
    WAYMARK_STATS_KEY: await newKey("analytics"),
  };
});

async function connect(changes: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const own = { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, ...env, ...changes };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [bin, "mcp"], env: own, stderr: "ignore" }),
  );
  clients.push(client);
  return client;
}

const textOf = (answer: unknown) => (answer as { content: { text: string }[] }).content[0]?.text ?? "";

describe("waymark mcp", () => {
  it("warns of a key in its arguments, and takes it", async () => {
    const args = [bin, "mcp", "--stats-key", env["WAYMARK_STATS_KEY"] ?? ""];
    const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
    const own: Record<string, string> = { PATH: path, ...env, WAYMARK_STATS_KEY: "" };
    const transport = new StdioClientTransport({ command: process.execPath, args, env: own, stderr: "pipe" });
    let said = "";
    transport.stderr?.on("data", (chunk) => {
      said += String(chunk);
    });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    clients.push(client);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("get_stats");
    expect(said).toContain("Every user of this machine sees keys in arguments. Set WAYMARK_TRACE_KEY");
  });

  it("gives the tools of both services over stdio", async () => {
    const api = createApiClient({ key: env["WAYMARK_TRACE_KEY"], url: env["WAYMARK_TRACE_URL"] });
    const { trace_id } = await api.createTrace({
      agent_id: "a",
      name: "n",
      status: "running",
      started_at: "2026-06-01T12:00:00.000Z",
    });
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...["list_traces", "get_trace", "search_spans", "explain_failure", "list_agents", "list_failures", "get_usage"],
      ...["list_sites", "get_stats", "get_events", "get_ai"],
    ]);
    const trace = await client.callTool({ name: "get_trace", arguments: { trace_id } });
    expect(JSON.parse(textOf(trace)).trace).toMatchObject({ id: trace_id, agent_id: "a", name: "n" });
    expect(client.getInstructions()).toMatch(/explain_failure[\s\S]*get_stats/);
    const sites = JSON.parse(textOf(await client.callTool({ name: "list_sites", arguments: {} })));
    expect(sites).toMatchObject({ sites: [{ domain: "example.com" }] });
    const wrong = await client.callTool({ name: "get_trace", arguments: {} });
    expect(wrong).toMatchObject({ isError: true });
    await expect(client.callTool({ name: "delete_trace", arguments: {} })).rejects.toThrow("Unknown tool");
  });

  it("works with one service, and says why another one does not", async () => {
    const one = await connect({ WAYMARK_STATS_URL: "http://127.0.0.1:9", WAYMARK_TRACE_KEY: "" });
    await expect(one.listTools()).rejects.toThrow("The analytics API cannot be reached: ");
    const other = await connect({ WAYMARK_STATS_URL: "http://127.0.0.1:9" });
    expect((await other.listTools()).tools).toHaveLength(7);
    const unknown = await connect({ WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_STATS_KEY: "" });
    await expect(unknown.listTools()).rejects.toThrow("The trace API answered 401: Invalid API key.");
  });

  it("needs a key, and ends with its input", async () => {
    const none = await createCommandLine({}).run(["mcp"]);
    expect(none).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("A key is needed") });
    const { code, stdout } = await createCommandLine(env).run(["mcp"], "no message\n");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });
});

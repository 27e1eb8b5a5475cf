import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createApiClient } from "@waymark/client";
import { useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { examine as checkAll } from "../doctor/check.js";
import { keyChecks } from "../doctor/key-checks.js";
import { visitService } from "../doctor/trace-service.js";

const database = useDatabase();
const startApp = useProcesses();
const accounts = createCommandLine({ DATABASE_URL: database.url });
let service: { url: string };
let statistics: { url: string };
const servers: Server[] = [];

beforeAll(async () => {
  service = await startApp("trace-api", database.url);
  statistics = await startApp("analytics-api", database.url);
});
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen<S extends Server>(server: S): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function newAccount(): Promise<string> {
  const args = ["account", "create", "--email", `${randomUUID()}@example.com`, "--plan", "free"];
  return (await accounts.json<{ id: string }>(...args)).id;
}

async function newKey(account: string, scope = "all"): Promise<string> {
  const args = ["key", "create", "--account", account, "--service", "trace", "--scope", scope, "--name", "test"];
  return (await accounts.json<{ key: string }>(...args)).key;
}

interface Report {
  ok: boolean;
  checks: { check: string; state: string; says: string; cure?: string }[];
}

async function examine(url: string, key?: string, now?: () => Date) {
  const cli = createCommandLine({ WAYMARK_TRACE_URL: url, ...(key && { WAYMARK_TRACE_KEY: key }) }, now);
  const { code, stdout, stderr } = await cli.run(["doctor", "--json"]);
  const { ok, checks } = JSON.parse(stdout) as Report;
  expect({ code, stderr, ok }).toEqual({ code: ok ? 0 : 1, stderr: "", ok });
  const wrong = Object.fromEntries(checks.filter(({ state }) => state === "wrong").map((it) => [it.check, it.says]));
  for (const { state, cure } of checks) expect(cure !== undefined).toBe(state === "wrong");
  return { ok, wrong, states: Object.fromEntries(checks.map(({ check, state }) => [check, state])), checks };
}

const trace = (agent_id: string) => ({
  agent_id,
  name: "Refund",
  status: "running",
  started_at: new Date().toISOString(),
});

describe("waymark doctor", () => {
  it("finds nothing wrong where a run has come", async () => {
    const key = await newKey(await newAccount());
    await createApiClient({ url: service.url, key }).createTrace({ ...trace("billing-agent"), status: "running" });
    const { ok, wrong, checks } = await examine(service.url, key);
    expect({ ok, wrong }).toEqual({ ok: true, wrong: {} });
    expect(checks.map(({ says }) => says)).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ answers in /),
      "Not needed on this machine.",
      "It agrees with the service's.",
      `A key of the trace service, …${key.slice(-4)}.`,
      "all: it sends and reads.",
      expect.stringMatching(/^999 of 1,000 traces are left until \S+Z; 1 of 1 agents\.$/),
      expect.stringMatching(/^"Refund" of billing-agent, running, began .* ago\.$/),
    ]);
    const cli = createCommandLine({ WAYMARK_TRACE_URL: `${service.url}/`, WAYMARK_TRACE_KEY: `${key}\n` });
    expect((await cli.run(["doctor"])).stdout).toMatch(/^✓ address {3}http.*\n✓ TLS/);
  });

  it("names an address where nothing listens, another service and another server", async () => {
    const gone = createServer();
    const free = await listen(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect((await examine(`http://${free}`, "wmk_trace_x")).wrong).toEqual({ address: `Nothing listens at ${free}.` });
    const statisticsKey = await examine(statistics.url, "wmk_trace_x");
    expect(statisticsKey.wrong["address"]).toBe(`${statistics.url} answers, and is Waymark analytics API.`);
    const page = await listen(createHttpServer((_, answer) => answer.end(`<html>${"x".repeat(1_000_000)}`)));
    expect((await examine(`http://${page}`, "wmk_trace_x")).wrong["address"]).toContain(
      "no trace API of Waymark (200)",
    );
    const moved = await listen(
      createHttpServer((_, answer) => answer.writeHead(308, { Location: "https://x.example/" }).end()),
    );
    expect((await examine(`http://${moved}`, "wmk_trace_x")).wrong["address"]).toContain("leads to another address");
    const rude = await listen(createServer((socket) => socket.destroy()));
    expect((await examine(`http://${rude}`, "wmk_trace_x")).wrong["address"]).toContain("breaks the connection off");
  });

  it("ends where nobody answers, or an answer does not end", async () => {
    const silent = await listen(createServer(() => undefined));
    const { wrong, states } = await examine(`http://${silent}`, "wmk_trace_x");
    expect(wrong).toEqual({ address: `${silent} gives no answer within 1.4 s.` });
    expect(states).toMatchObject({ clock: "unknown", key: "unknown", quota: "unknown" });
    const endless = await listen(createHttpServer((_, answer) => void answer.writeHead(200).write("{")));
    expect((await examine(`http://${endless}`)).wrong["address"]).toContain("no answer within");
  });

  it("ends in time where the name server is silent", async () => {
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const resolver = new Resolver({ timeout: 60_000, tries: 4 });
    resolver.setServers([`127.0.0.1:${silent.address().port}`]);
    const visit = visitService({ url: "http://nowhere.example.com" }, () => new Date(), 1_400, resolver);
    const [address] = await checkAll(keyChecks, visit);
    expect(address?.says).toBe("The name server gives no answer for nowhere.example.com.");
    silent.close();
  });

  it("names wrong TLS", async () => {
    const { host } = new URL(service.url);
    const { wrong, states } = await examine(`https://${host}`, "wmk_trace_x");
    expect(wrong).toEqual({ TLS: expect.stringMatching(/^127\.0\.0\.1:\d+ does not speak TLS: /) });
    expect(states["address"]).toBe("good");
    const files = await mkdtemp(join(tmpdir(), "waymark-doctor-"));
    const [key, cert] = [join(files, "key.pem"), join(files, "cert.pem")];
    const made = spawnSync("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...["-keyout", key, "-out", cert, "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"],
    ]);
    expect(made.status).toBe(0);
    const own = await listen(createTlsServer({ key: await readFile(key), cert: await readFile(cert) }));
    await rm(files, { recursive: true });
    const refused = await examine(`https://${own}`, "wmk_trace_x");
    expect(refused.wrong).toEqual({ TLS: "The certificate of 127.0.0.1 is refused: self-signed certificate." });
  });

  it("names a missing key, a wrong one, and one of the other service", async () => {
    const account = await newAccount();
    expect((await examine(service.url)).wrong).toEqual({ key: "There is no key: WAYMARK_TRACE_KEY is not set." });
    const cut = (await newKey(account)).slice(0, -1);
    expect((await examine(service.url, cut)).wrong["key"]).toContain("cut off or mistyped");
    expect((await examine(service.url, "ключ")).wrong["key"]).toBe("The key has characters that no key has.");
    const args = ["key", "create", "--account", account, "--service", "analytics", "--name", "test"];
    const { key } = await accounts.json<{ key: string }>(...args);
    const { wrong, states } = await examine(service.url, key);
    expect(wrong).toEqual({ key: expect.stringContaining("This is a key of the analytics API.") });
    expect(states["scope"]).toBe("unknown");
  });

  it("knows scopes: one that reads cannot send, one that sends cannot tell its quota", async () => {
    const account = await newAccount();
    expect((await examine(service.url, await newKey(account, "read"))).wrong["scope"]).toContain("sends no runs");
    const { ok, states } = await examine(service.url, await newKey(account, "ingest"));
    expect({ ok, states }).toMatchObject({
      ok: true,
      states: { scope: "good", quota: "unknown", "last run": "unknown" },
    });
    const { rows } = await database.pool.query("SELECT FROM trace WHERE account_id = $1", [account]);
    expect(rows).toHaveLength(0);
  });

  it("names a clock that is minutes off", async () => {
    const key = await newKey(await newAccount(), "ingest");
    const at = (minutes: number) => () => new Date(Date.now() + minutes * 60_000);
    expect((await examine(service.url, key, at(5))).wrong["clock"]).toMatch(
      /clock is \S+ m \d\d s ahead of the service's/,
    );
    expect((await examine(service.url, key, at(-3))).wrong["clock"]).toMatch(/ behind the service's/);
    expect((await examine(service.url, key, at(0.5))).wrong).toEqual({});
  });

  it("names a quota that is used up, and that nothing has come", async () => {
    const account = await newAccount();
    const key = await newKey(account);
    expect((await examine(service.url, key)).wrong).toEqual({ "last run": "No run has come yet." });
    await database.pool.query(
      `INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, date_trunc('month', now() AT TIME ZONE 'UTC'), 1000)`,
      [account],
    );
    const { wrong } = await examine(service.url, key);
    expect(wrong["quota"]).toMatch(/^The month's 1,000 traces are used: new runs are refused until \S+Z\.$/);
  });
});

import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { answerTimeoutMs, connectTimeoutMs, createPool, migrate, serviceTimeouts } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@waymark/local";
import { spanBody, traceBody } from "../app.fixture.js";
import { type ServiceProcess, startService } from "../service.fixture.js";

/** The server and all of its children, as they are now. */
function processesOf(postmaster: number): number[] {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim();
  return [postmaster, ...children.split(" ").filter(Boolean).map(Number)];
}

const describeOnLinux = process.platform === "linux" ? describe : describe.skip; // Elsewhere no /proc lists children.

describeOnLinux("while Postgres is frozen", () => {
  let folder: string;
  let postgres: EmbeddedPostgres;
  let service: ServiceProcess;
  let headers: Record<string, string>;
  let frozen: number[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-frozen-"));
    postgres = await startEmbeddedPostgres({ folder, settings: { fsync: "off" } });
    await migrate(postgres.connectionString);
    const pool = createPool({
      connectionString: postgres.connectionString,
      maxConnections: 1,
      applicationName: "test",
      statementTimeoutMs: 10_000,
    });
    const prisma = createPrisma(pool);
    const account = await createAccount(prisma, { email: "frozen@example.com", plan: "pro" });
    const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
    await pool.end();
    headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    service = await startService({ databaseUrl: postgres.connectionString });
  });
  afterAll(async () => {
    for (const pid of frozen) process.kill(pid, "SIGCONT");
    await service.end("SIGKILL");
    await postgres.stop();
    await rm(folder, { recursive: true });
  });

  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // Far above the allowed time, so a hanging request fails the test by itself.
      signal: AbortSignal.timeout(40_000),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };

  it("a request waits for a connection and a statement less than 13 seconds", () => {
    expect(connectTimeoutMs + serviceTimeouts.statementTimeoutMs + answerTimeoutMs).toBeLessThan(13_000);
  });

  it("every request is answered, metrics and readiness too, and everything goes on after it thaws", async () => {
    const { body } = await ask("POST", "/api/v1/traces", traceBody());
    const path = `/api/v1/traces/${body["trace_id"]}`;
    const requests = [
      () => ask("POST", "/api/v1/traces", traceBody()),
      () => ask("POST", `${path}/spans`, spanBody()),
      () => ask("PATCH", path, { status: "success" }),
      () => ask("GET", path),
      () => ask("GET", "/api/v1/agents"),
      () => ask("DELETE", "/api/v1/traces/00000000-0000-7000-8000-000000000000"),
    ];
    // Sessions open, as under load.
    await Promise.all(Array.from({ length: 8 }, () => requests.slice(0, 5).map((send) => send())).flat());

    const postmaster = Number((await readFile(join(folder, "data/postmaster.pid"), "utf8")).split("\n")[0]);
    const load = Array.from({ length: 4 }, () => requests.map((send) => send()));
    // First of all the process that makes others: a new one would not be in the list.
    process.kill(postmaster, "SIGSTOP");
    frozen = processesOf(postmaster);
    for (const pid of frozen) process.kill(pid, "SIGSTOP");
    const waves = [load.flat()];
    for (let wave = 0; wave < 3; wave++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      waves.push(requests.map((send) => send()));
    }
    const metrics = await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`, {
      signal: AbortSignal.timeout(5_000),
    });
    expect(metrics.status).toBe(200);
    expect((await ask("GET", "/ready")).status).toBe(503);
    const answers = await Promise.all(waves.flat());
    for (const { status } of answers) expect([200, 201, 404, 503]).toContain(status);
    expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(10);

    for (const pid of frozen) process.kill(pid, "SIGCONT");
    frozen = [];
    let thawed = 0;
    for (let i = 0; i < 100 && thawed !== 201; i++) {
      thawed = (await ask("POST", "/api/v1/traces", traceBody())).status;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(thawed).toBe(201);
    for (const send of requests) expect((await send()).status).not.toBe(503);
    expect((await ask("GET", "/ready")).status).toBe(200);
  });
});

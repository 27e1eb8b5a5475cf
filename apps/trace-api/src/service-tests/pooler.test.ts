import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { describeWithProgram, useDatabase } from "@waymark/testing";
import { type Pooler, startPooler } from "@waymark/testing/pooler";
import pg from "pg";
import { type ServiceProcess, startService } from "../service.fixture.js";

describeWithProgram("pgbouncer", "behind pgbouncer in session mode, on a database in Berlin's time", () => {
  const database = useDatabase();
  let folder: string;
  let pooler: Pooler;
  let service: ServiceProcess;

  beforeAll(async () => {
    const direct = new URL(database.directUrl);
    folder = await mkdtemp(join(tmpdir(), "waymark-pooler-"));
    await chmod(folder, 0o711);
    pooler = await startPooler(direct, "session", join(folder, "pooler"));
    await database.pool.query(`ALTER DATABASE "${direct.pathname.slice(1)}" SET timezone = 'Europe/Berlin'`);
    await database.pool.query(`ALTER DATABASE "${direct.pathname.slice(1)}" SET datestyle = 'SQL, DMY'`);
    service = await startService({ databaseUrl: pooler.url, env: { DIRECT_DATABASE_URL: database.directUrl } });
  });
  afterAll(async () => {
    await service?.end("SIGTERM");
    await pooler?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("keeps times as they were sent, and hears of a revoked key", async () => {
    const account = await createAccount(createPrisma(database.pool), { email: "pooled@example.com", plan: "pro" });
    const { key } = await issueKey(database.pool, { accountId: account.id, service: "trace", name: "test" });
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const [started_at, ended_at] = ["2026-03-29T01:30:00.123Z", "2026-10-25T00:30:00.456Z"];
    const made = await ask("POST", "/traces", { agent_id: "a", name: "n", status: "running", started_at });
    expect(made.status).toBe(201);
    const path = `/traces/${made.body["trace_id"]}`;
    const span = { name: "s", status: "ok", started_at, ended_at };
    expect((await ask("POST", `${path}/spans`, span)).status).toBe(201);
    expect((await ask("PATCH", path, { status: "success", ended_at })).status).toBe(200);
    expect((await ask("GET", path)).body).toMatchObject({ started_at, ended_at, spans: [{ started_at, ended_at }] });
    const list = await ask("GET", "/traces?from=2026-03-29T01:30:00Z&to=2026-03-29T01:30:01Z");
    expect(list.body).toMatchObject({ traces: [{ started_at, ended_at }] });
    await database.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [account.id]);
    while ((await ask("GET", path)).status !== 401) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("does its work through the pooler, and listens past it", async () => {
    const console = new URL(pooler.url);
    console.pathname = "/pgbouncer";
    const client = new pg.Client({ connectionString: console.href });
    await client.connect();
    const { rows } = await client.query("SHOW CLIENTS");
    await client.end();
    const name = new URL(pooler.url).pathname.slice(1);
    const programs = rows.filter((row) => row.database === name).map((row) => row.application_name);
    expect([...new Set(programs)]).toEqual([expect.stringMatching(/^waymark trace-api \d/)]);
    expect((await fetch(`http://127.0.0.1:${service.metricsPort}/ready`)).status).toBe(200);
  });
});

import { writeFileSync } from "node:fs";
import { beforeAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { parseSlots } from "@waymark/auth";
import { createPrisma } from "@waymark/database/prisma";
import { describeWithProgram, type RunningApp, useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { ask, nginxFile, readDocker, useProxies } from "./proxy.fixture.js";

const slots = { a: "00-7f", b: "80-ff" } as const;
const databases = { a: useDatabase(), b: useDatabase() };
const startApp = useProcesses();
const startProxy = useProxies();

type Cell = keyof typeof slots;

interface RunningCell {
  traces: RunningApp;
  statistics: RunningApp;
}

async function startCell(cell: Cell): Promise<RunningCell> {
  const env = { CELL_SLOTS: slots[cell] };
  const { url } = databases[cell];
  return { traces: await startApp("trace-api", url, env), statistics: await startApp("analytics-api", url, env) };
}

/** `docker/cells/nginx.conf` with the cells' addresses, behind a socket. */
async function startNginx(nginx: string, cells: Record<Cell, RunningCell>): Promise<string> {
  const args = Object.entries(slots).flatMap(([cell, part]) => ["--cell", `${cell}=${part}`]);
  const { stdout: map } = await createCommandLine({}).run(["cell", "map", "--proxy", "nginx", ...args]);
  const addresses = {
    "10.0.0.1:41": cells.a.traces.url,
    "10.0.0.2:41": cells.b.traces.url,
    "10.0.0.1:42": cells.a.statistics.url,
    "10.0.0.2:42": cells.b.statistics.url,
  };
  return startProxy(nginx, (folder, socket) => {
    let file = readDocker("cells/nginx.conf").replaceAll("listen 80;", `listen unix:${socket};`);
    for (const [address, url] of Object.entries(addresses))
      for (const instance of ["00", "10"]) file = file.replaceAll(`${address}${instance}`, new URL(url).host);
    writeFileSync(`${folder}/nginx.conf`, nginxFile(folder, `${map}\n${file}`));
    return ["-c", `${folder}/nginx.conf`, "-p", folder, "-e", `${folder}/error.log`];
  });
}

async function makeKeys(cell: Cell) {
  const { pool } = databases[cell];
  const account = { email: `${cell}@example.com`, plan: "pro", slots: parseSlots(slots[cell]) ?? new Set() } as const;
  const { id: accountId } = await createAccount(createPrisma(pool), account);
  const { key: trace } = await issueKey(pool, { accountId, service: "trace", name: "k" });
  const { key: analytics } = await issueKey(pool, { accountId, service: "analytics", name: "k" });
  return { accountId, trace, analytics };
}

const trace = JSON.stringify({
  agent_id: "agent",
  name: "A run",
  status: "running",
  started_at: "2026-06-01T12:00:00.000Z",
});
const post = (key: string) => ({
  method: "POST",
  path: "/api/v1/traces",
  headers: { Host: "traces.example.com", Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
  body: trace,
});

async function countTraces(cell: Cell): Promise<number> {
  return (await databases[cell].pool.query("SELECT FROM trace")).rowCount ?? 0;
}

describeWithProgram("nginx", "two cells behind nginx", (nginx) => {
  let cells: Record<Cell, RunningCell>;
  let keys: Record<Cell, Awaited<ReturnType<typeof makeKeys>>>;
  let socket: string;

  beforeAll(async () => {
    cells = { a: await startCell("a"), b: await startCell("b") };
    keys = { a: await makeKeys("a"), b: await makeKeys("b") };
    socket = await startNginx(nginx, cells);
  });

  it("lead each key's writes to its own Postgres alone", async () => {
    const writes = (["a", "b", "b", "b", "a"] as const).map((cell) => ask(socket, post(keys[cell].trace)));
    for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
    expect([await countTraces("a"), await countTraces("b")]).toEqual([2, 3]);
  });

  it("lead each key's reads of statistics to its own cell", async () => {
    for (const cell of ["a", "b"] as const) {
      const headers = { Host: "stats.example.com", Authorization: `Bearer ${keys[cell].analytics}` };
      expect(await ask(socket, { path: "/api/v1/sites", headers })).toMatchObject({ status: 200 });
    }
  });

  it("answer 401 to a key in the wrong cell, even if that cell knew it", async () => {
    const { pool } = databases.a;
    const { accountId } = keys.b;
    await pool.query("INSERT INTO account (id, email, plan, slot) VALUES ($1, 'b@example.com', 'pro', 'ff')", [
      accountId,
    ]);
    const { rows } = await databases.b.pool.query(
      "SELECT id, account_id, service, name, hash, hint FROM api_key WHERE account_id = $1",
      [accountId],
    );
    for (const row of rows) {
      await pool.query(
        "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, $3, $4, $5, $6)",
        Object.values(row),
      );
    }
    const headers = { Authorization: `Bearer ${keys.b.trace}`, "Content-Type": "application/json" };
    const wrong = await fetch(`${cells.a.traces.url}/api/v1/traces`, { method: "POST", headers, body: trace });
    expect({ status: wrong.status, body: await wrong.json() }).toMatchObject({
      status: 401,
      body: { error: "Invalid API key" },
    });
    const right = await fetch(`${cells.b.traces.url}/api/v1/traces`, { method: "POST", headers, body: trace });
    expect(right.status).toBe(201);
  });

  it("fail alone: without one cell the other goes on", async () => {
    await cells.b.traces.kill();
    expect((await ask(socket, post(keys.b.trace))).status).toBe(502);
    expect((await ask(socket, post(keys.a.trace))).status).toBe(201);
  });
});

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "@jest/globals";
import { createAccount, createSite, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { amount, built, describeWithProgram, type RunningApp, useDatabase, useProcesses } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { ask, nginxFile, readDocker, useProxies } from "./proxy.fixture.js";

const slot = "10";
const databases = { a: useDatabase(), b: useDatabase() };
type Cell = keyof typeof databases;
const startApp = useProcesses();
const startProxy = useProxies();

interface RunningCell {
  traces: RunningApp;
  collector: RunningApp;
}

async function startCell(cell: Cell, slots: string): Promise<RunningCell> {
  const { url } = databases[cell];
  return {
    traces: await startApp("trace-api", url, { CELL_SLOTS: slots }),
    collector: await startApp("collector", url, { COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0" }),
  };
}

/** A proxy with a map; what a reload does for its clients. */
async function startNginx(nginx: string, map: Record<Cell, string>, cells: Record<Cell, RunningCell>) {
  const args = Object.entries(map).flatMap(([cell, part]) => ["--cell", `${cell}=${part}`]);
  const { stdout } = await createCommandLine({}).run(["cell", "map", "--proxy", "nginx", ...args]);
  return startProxy(nginx, (folder, socket) => {
    const file = readDocker("cells/nginx.conf")
      .replaceAll("listen 80;", `listen unix:${socket};`)
      .replaceAll(/10\.0\.0\.1:41[01]0/g, new URL(cells.a.traces.url).host)
      .replaceAll(/10\.0\.0\.2:41[01]0/g, new URL(cells.b.traces.url).host)
      .replaceAll(/10\.0\.0\.1:43[01]0/g, new URL(cells.a.collector.url).host)
      .replaceAll(/10\.0\.0\.2:43[01]0/g, new URL(cells.b.collector.url).host);
    writeFileSync(`${folder}/nginx.conf`, nginxFile(folder, `${stdout}\n${file}`));
    return ["-c", `${folder}/nginx.conf`, "-p", folder, "-e", `${folder}/error.log`];
  });
}

async function makeAccount(its: string) {
  const { pool } = databases.a;
  const email = `${its}@example.com`;
  const { id } = await createAccount(createPrisma(pool), { email, plan: "pro", slots: new Set([its]) });
  const { key } = await issueKey(pool, { accountId: id, service: "trace", name: "k" });
  const domain = `${its}.example.com`;
  const { site } = await createSite(pool, { accountId: id, domain, name: its });
  return { id, key, domain, siteId: site.id, host: `${its}.collect.example.com` };
}
type Account = Awaited<ReturnType<typeof makeAccount>>;

/** The command in a process of its own. */
function move(args: readonly string[], killAfterMs?: number) {
  const entry = fileURLToPath(built(new URL("../../dist/main.js", import.meta.url)));
  const env = { DATABASE_URL: databases.a.directUrl, DIRECT_DATABASE_URL: databases.a.directUrl };
  const to = ["cell", "move", "--slot", slot, "--to", databases.b.directUrl, ...args, "--json"];
  const child = spawn(process.execPath, [entry, ...to], { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const timer = killAfterMs === undefined ? undefined : globalThis.setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  return once(child, "exit").then(async ([code]) => {
    clearTimeout(timer);
    const [stdout, stderr] = await said;
    return { code: code as number | null, stdout, stderr };
  });
}

/** Seeded, so a failure can be repeated: the same points of time, if not the same instructions. */
function randomFrom(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describeWithProgram("nginx", "a move under load", (nginx) => {
  let cells: Record<Cell, RunningCell>;
  let socket: string;
  let stopped = false;
  let accounts: { moved: Account; kept: Account };
  const ledger = { moved: new Map<string, number>(), kept: new Map<string, number>() };
  const events = { moved: 0, kept: 0 };
  const refusals = { moved: 0, kept: 0 };

  beforeAll(async () => {
    cells = { a: await startCell("a", "00-7f"), b: await startCell("b", "10,80-ff") };
    accounts = { moved: await makeAccount(slot), kept: await makeAccount("20") };
    socket = await startNginx(nginx, { a: "00-7f", b: "80-ff" }, cells);
    await databases.a.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
       SELECT $1, gen_random_uuid(), gen_random_uuid(), 's', 'ok', now(), '{"a": 1.50}' FROM generate_series(1, 20000)`,
      [accounts.moved.id],
    );
  });

  /** The errors that the services logged. */
  const failures = () =>
    Object.values(cells)
      .flatMap(({ traces, collector }) => [...traces.failures, ...collector.failures])
      .join("\n");

  /** Sends again until it is accepted, as clients and exporters do. */
  async function post(who: keyof typeof refusals, path: string, body: object): Promise<Record<string, unknown>> {
    const headers = {
      Host: "traces.example.com",
      Authorization: `Bearer ${accounts[who].key}`,
      "Content-Type": "application/json",
      "Idempotency-Key": randomUUID(),
    };
    for (;;) {
      const { status = 0, body: answer } = await ask(socket, {
        method: "POST",
        path,
        headers,
        body: JSON.stringify(body),
      });
      if (status === 201) return JSON.parse(answer);
      if (status !== 503) throw new Error(`${who}: ${status} ${answer}\n${failures()}`);
      refusals[who]++;
      await setTimeout(20);
    }
  }

  async function write(who: keyof typeof ledger): Promise<void> {
    while (!stopped) {
      const trace = { agent_id: "a", name: "n", status: "running", started_at: "2026-06-01T12:00:00Z" };
      const { trace_id } = await post(who, "/api/v1/traces", trace);
      const id = String(trace_id);
      ledger[who].set(id, 0);
      const span = { name: "s", status: "ok", started_at: "2026-06-01T12:00:00Z" };
      await post(who, `/api/v1/traces/${id}/spans`, span);
      ledger[who].set(id, 1);
      await setTimeout(5);
    }
  }

  async function visit(who: keyof typeof events): Promise<void> {
    while (!stopped) {
      const { domain, host } = accounts[who];
      const body = JSON.stringify({ name: "pageview", url: `https://${domain}/`, domain });
      const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
      const headers = { Host: host, "User-Agent": userAgent };
      const { status } = await ask(socket, { method: "POST", path: "/api/event", headers, body });
      if (status === 202) events[who]++;
      else if (status === 503) refusals[who]++;
      else throw new Error(`${who}: the collector answered ${status}\n${failures()}`);
      await setTimeout(5);
    }
  }

  it("loses and doubles nothing, whenever it is killed", async () => {
    const kinds = ["moved", "kept"] as const;
    const load = Promise.all(kinds.flatMap((who) => [write(who), write(who), visit(who)]));
    const random = randomFrom(7);
    const points: number[] = [];
    const kills = amount(2, 10);
    for (let kill = 0; kill < kills; kill++) {
      points.push(Math.round(300 + random() * 1_500));
      await move(kill === kills / 2 ? ["--undo"] : [], points.at(-1));
      // To its end, which a slow machine does not reach before the kill.
      if (kill === kills / 2) await move(["--undo"]);
    }
    const ended = await move([]);
    expect([ended.code, ended.stderr, points.length]).toEqual([0, "", kills]);
    expect(JSON.parse(ended.stdout)).toMatchObject({ slot, phase: "moved" });
    socket = await startNginx(nginx, { a: "00-0f,11-7f", b: "10,80-ff" }, cells);
    await setTimeout(500);
    await move(["--finish"], 700);
    expect((await move(["--finish"])).stdout).toContain('"finished"');
    await setTimeout(300);
    stopped = true;
    await load;
    for (const [who, cell] of [
      ["moved", "b"],
      ["kept", "a"],
    ] as const) {
      const { id, siteId } = accounts[who];
      const { pool } = databases[cell];
      const read = async (sql: string, value = id) => (await pool.query(sql, [value])).rows;
      const traces = await read(
        `SELECT t.id, (SELECT count(*)::int FROM span s WHERE s.account_id = t.account_id AND s.trace_id = t.id) AS spans
         FROM trace t WHERE t.account_id = $1 ORDER BY id`,
      );
      expect(traces).toEqual([...ledger[who]].sort().map(([id, spans]) => ({ id, spans })));
      expect(await read("SELECT sum(traces)::int AS n FROM trace_usage WHERE account_id = $1")).toEqual([
        { n: ledger[who].size },
      ]);
      expect(await read("SELECT count(*)::int AS n FROM event WHERE site_id = $1", siteId)).toEqual([
        { n: events[who] },
      ]);
      expect(
        await read(
          "SELECT sum(pageviews)::int AS n FROM daily_stat WHERE site_id = $1 AND dimension = 'total' AND value = ''",
          siteId,
        ),
      ).toEqual([{ n: events[who] }]);
      expect(ledger[who].size).toBeGreaterThan(20);
    }
    const { rows } = await databases.b.pool.query(
      "SELECT count(*)::int AS n FROM span WHERE account_id = $1 AND input IS NOT NULL",
      [accounts.moved.id],
    );
    expect(rows).toEqual([{ n: 20_000 }]);
    for (const table of ["trace", "span", "event", "account"]) {
      const column = { event: "site_id", account: "id" }[table] ?? "account_id";
      const value = table === "event" ? accounts.moved.siteId : accounts.moved.id;
      expect((await databases.a.pool.query(`SELECT FROM ${table} WHERE ${column} = $1`, [value])).rowCount).toBe(0);
    }
    expect(refusals.kept).toBe(0);
    expect(refusals.moved).toBeGreaterThan(0);
  });
});

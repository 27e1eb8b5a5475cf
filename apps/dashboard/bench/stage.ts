import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createSessionCookie, startSession } from "@waymark/accounts/identity";
import { createPool, migrate } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { deployedFlags } from "@waymark/local/deployed-flags";
import { importEvents } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { addLargeTrace } from "../src/trace/trace.fixture.js";

/** The deployed dashboard with data, and somebody signed in. */
export interface Stage {
  origin: string;
  cookie: string;
  traceId: string;
  siteId: string;
  /** Traces on the first page of the list. */
  listed: readonly string[];
  databaseUrl: string;
  pid: number;
  postmasterPid: number;
}

export const largeTraceSpans = 10_000;
const listedTraces = 1_000;
const siteEvents = 20_000;
const siteDays = 60;
/** As in the image: without the second, garbage may grow to twice the memory. */
const entry = fileURLToPath(new URL("../../../dist/main.js", import.meta.url));

/** Runs on an embedded Postgres of its own, and removes everything at the end. */
export async function withStage(run: (stage: Stage) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "waymark-bench-"));
  const { connectionString, stop } = await startEmbeddedPostgres({ folder: join(home, "postgres") });
  try {
    await migrate(connectionString);
    const pidFile = await readFile(join(home, "postgres/data/postmaster.pid"), "utf8");
    const data = await withPool(connectionString, fill);
    const server = await startServer(connectionString);
    try {
      await run({ ...data, ...server, databaseUrl: connectionString, postmasterPid: Number(pidFile.split("\n")[0]) });
    } finally {
      await server.end();
    }
  } finally {
    await stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function withPool<T>(connectionString: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const limits = { maxConnections: 2, statementTimeoutMs: 0 };
  const pool = createPool({ connectionString, applicationName: "bench", pipeline: true, ...limits });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

async function fill(pool: pg.Pool) {
  const [accountId, personId] = [randomUUID(), randomUUID()];
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'bench@localhost', 'pro')", [accountId]);
  const person = "INSERT INTO person (id, email, name, is_verified) VALUES ($1, 'bench@localhost', 'Bench', true)";
  await pool.query(person, [personId]);
  const membership = "INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, 'owner')";
  await pool.query(membership, [accountId, personId]);
  const token = await startSession(pool, { personId, accountId, now: new Date() });
  const cookie = createSessionCookie(new URL("http://localhost")).write(token).split(";")[0] ?? "";
  const traceId = await addLargeTrace(pool, accountId, largeTraceSpans);
  const listed = await addTraces(pool, accountId);
  const siteId = await addSite(pool, accountId);
  await pool.query("VACUUM ANALYZE");
  return { cookie, traceId, siteId, listed };
}

/** Ids in the order of time, as the trace API gives them. */
async function addTraces(pool: pg.Pool, accountId: string): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     SELECT $1, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
       'agent-' || n % 6, 'Answer ticket ' || n, CASE WHEN n % 8 = 3 THEN 'error' ELSE 'success' END, at, at + interval '4 seconds'
     FROM generate_series(1, $2::int) n, LATERAL (SELECT now() - n * interval '11 minutes' AS at) clock RETURNING id`,
    [accountId, listedTraces],
  );
  return rows.slice(0, 50).map(({ id }) => id);
}

async function addSite(pool: pg.Pool, accountId: string): Promise<string> {
  const [id, domain] = [randomUUID(), "bench.example"];
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 'Bench')", [
    id,
    accountId,
    domain,
  ]);
  const stepMs = (siteDays * 86_400_000) / siteEvents;
  const line = (n: number) => ({
    ts: new Date(Date.now() - (siteEvents - n) * stepMs).toISOString(),
    url: `https://${domain}/page-${n % 97}`,
    visitor: `visitor-${n % 4_000}`,
  });
  const lines = Array.from({ length: siteEvents }, (_, n) => Buffer.from(`${JSON.stringify(line(n))}\n`));
  const { imported } = await importEvents({ pool, site: { id, domain }, input: Readable.from(lines) });
  if (imported !== siteEvents) throw new Error(`Imported ${imported} of ${siteEvents} events`);
  return id;
}

/** The built dashboard, as in the image. */
async function startServer(databaseUrl: string) {
  const env = { DATABASE_URL: databaseUrl, DASHBOARD_PORT: "0", DASHBOARD_METRICS_PORT: "0", LOG_LEVEL: "info" };
  const child = spawn(process.execPath, [...deployedFlags("dashboard"), entry], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const port = await new Promise<number>((resolve, reject) => {
    ended.then(([code]) => reject(new Error(`The dashboard ended with ${code}`)), reject);
    createInterface({ input: child.stdout }).on("line", (text) => {
      const { msg, port: own }: { msg?: string; port?: number } = JSON.parse(text);
      if (msg === "listening" && own !== undefined) resolve(own);
    });
  });
  const end = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return { origin: `http://localhost:${port}`, pid: child.pid ?? 0, end };
}

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type { PlanId } from "@waymark/plan";
import { amount, describeWithRedis, useDatabase } from "@waymark/testing";
import { Redis } from "ioredis";
import { spanBody, traceBody } from "../app.fixture.js";
import { type ServiceProcess, startService } from "../service.fixture.js";

const database = useDatabase();
const pool = createPool({
  connectionString: database.url,
  maxConnections: 2,
  applicationName: "test",
  statementTimeoutMs: 10_000,
});
const prisma = createPrisma(pool);
let services: ServiceProcess[] = [];
let accounts = 0;

afterEach(async () => {
  await Promise.all(services.map((service) => service.end("SIGKILL")));
  services = [];
});
afterAll(() => pool.end());

async function start(redisUrl?: string): Promise<ServiceProcess> {
  const service = await startService({ databaseUrl: database.url, redisUrl });
  services.push(service);
  return service;
}

async function makeAccount(plan: PlanId) {
  const account = await createAccount(prisma, { email: `process-${++accounts}@example.com`, plan });
  const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
  return { id: account.id, key };
}

type Account = Awaited<ReturnType<typeof makeAccount>>;

/** Sends a request; undefined if the connection broke before the answer. */
async function send(
  service: ServiceProcess,
  account: Account,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) {
  try {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${account.key}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const isReplayed = answer.headers.get("idempotent-replayed") === "true";
    return { status: answer.status, isReplayed, body: (await answer.json()) as Record<string, string> };
  } catch {
    return undefined;
  }
}

/**
 * Creates traces with spans over 32 connections until the service no longer answers; returns the acknowledged ones.
 * @param onAnswer called once, when the first trace is acknowledged
 */
async function loadUntilGone(service: ServiceProcess, account: Account, onAnswer: () => void) {
  const acknowledged = { traces: [] as string[], spans: [] as string[], refused: new Set<number>() };
  const agent = async () => {
    for (;;) {
      const created = await send(service, account, "POST", "/traces", traceBody());
      if (!created) return;
      if (created.status === 201 && acknowledged.traces.push(created.body["trace_id"] ?? "") === 1) onAnswer();
      if (created.status !== 201) acknowledged.refused.add(created.status);
      const added = await send(service, account, "POST", `/traces/${created.body["trace_id"]}/spans`, spanBody());
      if (!added) return;
      if (added.status === 201) acknowledged.spans.push(added.body["span_id"] ?? "");
      else acknowledged.refused.add(added.status);
    }
  };
  await Promise.all(Array.from({ length: 32 }, agent));
  return acknowledged;
}

async function countStored(table: "trace" | "span", ids: readonly string[]): Promise<number> {
  const { rows } = await pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE id = ANY($1)`, [ids]);
  return rows[0].n;
}

describe("the trace service as a process", () => {
  it("has everything that it acknowledged in the database after each kill -9 under load, and counts it exactly", async () => {
    const account = await makeAccount("pro");
    for (let round = 0; round < amount(2, 10); round++) {
      const service = await start();
      // From the first answer on, at another moment of the load each time.
      const kill = () => void setTimeout(() => void service.end("SIGKILL"), 20 + 40 * round);
      const { traces, spans, refused } = await loadUntilGone(service, account, kill);
      expect(await service.ended).toBe("SIGKILL");
      expect(traces.length).toBeGreaterThan(0);
      expect(refused).toEqual(new Set());
      await untilSessionsEnd();
      expect(await countStored("trace", traces)).toBe(traces.length);
      expect(await countStored("span", spans)).toBe(spans.length);
      const { rows } = await pool.query(
        "SELECT (SELECT traces FROM trace_usage WHERE account_id = $1) AS counted, (SELECT count(*)::int FROM trace WHERE account_id = $1) AS stored",
        [account.id],
      );
      expect(rows[0].counted).toBe(rows[0].stored);
    }
  });

  it("replays what a process committed and was killed before it answered", async () => {
    const account = await makeAccount("free");
    const first = await start();
    const made = await send(first, account, "POST", "/traces", traceBody());
    const path = `/traces/${made?.body["trace_id"]}/spans/batch`;
    const requests = [
      { path: "/traces", body: traceBody(), table: "trace" },
      { path, body: { spans: Array.from({ length: 1_000 }, () => spanBody()) }, table: "span" },
    ];
    const holder = await pool.connect();
    await holder.query("BEGIN");
    // Rows with the same keys, not committed: both statements wait for them, with all they have to store in hand.
    await holder.query(
      "INSERT INTO idempotency_key (account_id, key, request_hash, ids) SELECT $1, key, sha256(''), '{}' FROM unnest($2::text[]) AS k (key)",
      [account.id, requests.map(({ table }) => table)],
    );
    const lost = untilLost(() =>
      requests.map(({ path, body, table }) => send(first, account, "POST", path, body, { "Idempotency-Key": table })),
    );
    try {
      await until("both statements wait", `wait_event_type = 'Lock' AND ${hasJustBegun}`, 2);
      process.kill(first.pid, "SIGSTOP");
    } finally {
      await holder.query("ROLLBACK");
      holder.release();
    }
    await until("both are committed", "state = 'active'", 0);
    expect(await first.end("SIGKILL")).toBe("SIGKILL");
    expect(await lost).toEqual([undefined, undefined]);

    const second = await start();
    for (const { path, body, table } of requests) {
      const answer = await send(second, account, "POST", path, body, { "Idempotency-Key": table });
      expect([answer?.status, answer?.isReplayed]).toEqual([201, true]);
      const ids = [answer?.body["trace_id"] ?? answer?.body["span_ids"]].flat();
      expect(ids).toHaveLength(table === "trace" ? 1 : 1_000);
      const { rows } = await pool.query(`SELECT id FROM ${table} WHERE account_id = $1 AND id <> $2 ORDER BY id`, [
        account.id,
        made?.body["trace_id"],
      ]);
      expect(rows.map(({ id }) => id)).toEqual(ids);
    }
    const { rows } = await pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [account.id]);
    expect(rows).toEqual([{ traces: 2 }]);
  });

  it("answers what it has in hand after SIGTERM, and ends with 0", async () => {
    const account = await makeAccount("pro");
    const service = await start();
    const stop = () => void setTimeout(() => void service.end("SIGTERM"), 200);
    const { traces, spans, refused } = await loadUntilGone(service, account, stop);
    expect(await service.ended).toBe(0);
    expect(traces.length).toBeGreaterThan(0);
    expect(refused).toEqual(new Set());
    expect(await countStored("trace", traces)).toBe(traces.length);
    expect(await countStored("span", spans)).toBe(spans.length);
    // Everything written was answered: the service finished the requests in hand.
    const { rows } = await pool.query("SELECT count(*)::int AS n FROM trace WHERE account_id = $1", [account.id]);
    expect(rows[0].n).toBe(traces.length);
  });

  describeWithRedis("twice, on one Postgres and one Redis", (redisUrl) => {
    it("holds limits exactly, and adds and queues each alert once", async () => {
      const redis = new Redis(redisUrl);
      await redis.flushall();
      const [one, two] = await Promise.all([start(redisUrl), start(redisUrl)]);
      const account = await makeAccount("pro");
      const first = await send(one, account, "POST", "/traces", traceBody());
      await pool.query("UPDATE trace_usage SET traces = 49900 WHERE account_id = $1", [account.id]);
      const creates = await Promise.all(
        Array.from({ length: 400 }, (_, n) => send(n % 2 ? one : two, account, "POST", "/traces", traceBody())),
      );
      expect(creates.filter((answer) => answer?.status === 201)).toHaveLength(100);
      const refused = creates.filter((answer) => answer?.status === 429);
      expect(refused).toHaveLength(300);
      expect(new Set(refused.map((answer) => answer?.body["current"]))).toEqual(new Set([50_000]));

      const path = `/traces/${first?.body["trace_id"]}`;
      const patches = await Promise.all(
        Array.from({ length: 40 }, (_, n) => send(n % 2 ? one : two, account, "PATCH", path, { status: "error" })),
      );
      expect(new Set(patches.map((answer) => answer?.status))).toEqual(new Set([200]));
      const { rows } = await pool.query("SELECT id FROM alert WHERE account_id = $1", [account.id]);
      expect(rows).toHaveLength(1);
      const isQueued = async () => (await redis.keys("*")).some((key) => key.endsWith(rows[0].id));
      for (const until = Date.now() + 120_000; Date.now() < until && !(await isQueued()); ) await pause(5);
      expect(await isQueued()).toBe(true);
      await redis.quit();
    });
  });
});

/** Repeats requests side by side while the service refuses them: each waits for a lock no longer than a second. */
async function untilLost(request: () => ReturnType<typeof send>[]): Promise<Awaited<ReturnType<typeof send>>[]> {
  for (;;) {
    const answers = await Promise.all(request());
    if (answers.some((answer) => !answer || answer.status < 400)) return answers;
  }
}

const hasJustBegun = "clock_timestamp() - query_start < interval '300 ms'";

/** Waits until so many sessions of services are in a state, given as a condition on `pg_stat_activity`. */
async function until(what: string, condition: string, sessions: number): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity
    WHERE application_name LIKE 'waymark trace-api %' AND datname = current_database() AND ${condition}`;
  for (const end = Date.now() + 120_000; Date.now() < end; await pause(5))
    if ((await pool.query(sql)).rowCount === sessions) return;
  throw new Error(`Waited in vain until ${what}`);
}

/** A killed service's last statement may still run; it ends with its session. */
function untilSessionsEnd(): Promise<void> {
  return until("sessions of the killed service end", "true", 0);
}

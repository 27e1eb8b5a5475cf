import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AlertKey } from "@waymark/alerts";
import { createRegistry } from "@waymark/service";
import { createQueue, queues } from "@waymark/service/queue";
import { databaseVariables, describeWithRedis, startResendStub, useDatabase } from "@waymark/testing";
import type pg from "pg";
import { loadConfig } from "./config.js";
import { createWorkerMetrics } from "./metrics.js";
import { startWorker } from "./start-worker.js";
import {
  createTestLog,
  makeFailedTrace,
  makeMoreAlerts,
  makeRunningTrace,
  readAlert,
  until,
} from "./worker.fixture.js";

const database = useDatabase();
const closers: (() => Promise<unknown>)[] = [];
let stub: Awaited<ReturnType<typeof startResendStub>>;
beforeEach(async () => {
  stub = await startResendStub();
  closers.push(() => stub.close());
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A worker as production runs it, with the stub for Resend and a sweep every second. */
async function start(redisUrl?: string, env: NodeJS.ProcessEnv = {}) {
  const { log, lines } = createTestLog();
  const config = loadConfig({
    ...databaseVariables("worker", database.url),
    REDIS_URL: redisUrl,
    WORKER_METRICS_PORT: "0",
    RESEND_API_KEY: "re_test",
    RESEND_BASE_URL: stub.baseUrl,
    ALERT_FROM: "alerts@example.com",
    ...env,
  });
  const worker = await startWorker({ ...config, sweepIntervalMs: 1_000 }, log);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= worker.stop();
    return stopped;
  };
  closers.push(stop);
  return { stop, lines, operations: `http://127.0.0.1:${worker.port}` };
}

async function queue(alert: AlertKey | readonly AlertKey[], redisUrl?: string) {
  const adding = createQueue(queues.traceFinalized, {
    databaseUrl: database.directUrl,
    redisUrl,
    log: createTestLog().log,
  });
  await adding.add([alert].flat());
  await adding.close();
}

const isSent = async (alert: AlertKey) => (await readAlert(database.pool, alert))?.isSent === true;
const mailsOf = ({ alertId }: AlertKey) => stub.mails.filter((it) => it.headers["idempotency-key"] === alertId);

function suite(redisUrl?: string) {
  sendsEachAlert(redisUrl);
  isFairToTenants(redisUrl);
}

function sendsEachAlert(redisUrl?: string) {
  it("sends the mail of a queued alert, once", async () => {
    const trace = await makeFailedTrace(database.pool);
    const { operations } = await start(redisUrl);
    await queue(trace, redisUrl);
    await until(() => isSent(trace));
    await queue(trace, redisUrl);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(mailsOf(trace)).toHaveLength(1);
    expect(mailsOf(trace)[0]?.body.to).toBe(trace.email);
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    expect(metrics).toMatch(/waymark_failure_mails_total\{outcome="sent",service="worker"\} 1/);
  });

  it("sends an alert that never reached the queue", async () => {
    const trace = await makeFailedTrace(database.pool, { ageSeconds: 6 });
    await start(redisUrl);
    await until(() => isSent(trace));
    expect(mailsOf(trace)).toHaveLength(1);
  });

  it("tries again after a failure of Resend, and after the wait of a 429", async () => {
    const trace = await makeFailedTrace(database.pool);
    stub.answers.push(
      { status: 500, body: { statusCode: 500, name: "internal_server_error", message: "m" } },
      {
        status: 429,
        body: { statusCode: 429, name: "rate_limit_exceeded", message: "m" },
        headers: { "retry-after": "1" },
      },
    );
    await start(redisUrl);
    await queue(trace, redisUrl);
    await until(() => isSent(trace));
    expect(mailsOf(trace)).toHaveLength(3);
    expect(await readAlert(database.pool, trace)).toMatchObject({ attempts: 2 });
  });

  it("finishes the mail in hand when it is stopped, and takes no other", async () => {
    const inHand = await makeFailedTrace(database.pool);
    stub.answers.push({ status: 200, delayMs: 1_500 });
    const { stop } = await start(redisUrl);
    await queue(inHand, redisUrl);
    await until(() => mailsOf(inHand).length === 1);
    const stopped = stop();
    const next = await makeFailedTrace(database.pool);
    await queue(next, redisUrl);
    await stopped;
    expect(await isSent(inHand)).toBe(true);
    expect(mailsOf(next)).toEqual([]);
    await start(redisUrl);
    await until(() => isSent(next));
    expect([mailsOf(inHand).length, mailsOf(next).length]).toEqual([1, 1]);
  });

  it("works beside a second worker without sending twice", async () => {
    const traces = await Promise.all(
      Array.from({ length: 20 }, () => makeFailedTrace(database.pool, { ageSeconds: 6 })),
    );
    await Promise.all([start(redisUrl), start(redisUrl)]);
    for (const trace of traces) await until(() => isSent(trace));
    expect(traces.map((trace) => mailsOf(trace).length)).toEqual(traces.map(() => 1));
  });
}

function isFairToTenants(redisUrl?: string) {
  it("sends one tenant's only mail among the first few, although 300 of another's were queued before it", async () => {
    const busy = await makeFailedTrace(database.pool, { ageSeconds: 60 });
    const many = await makeMoreAlerts(database.pool, { accountId: busy.accountId, count: 299 });
    await queue([busy, ...many], redisUrl);
    const single = await makeFailedTrace(database.pool);
    await queue(single, redisUrl);
    await start(redisUrl, { ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "10000" });
    await until(() => isSent(single));
    expect(stub.mails.findIndex((mail) => mail.body.to === single.email)).toBeLessThan(10);
    for (const table of ["alert", "delivery"]) {
      await database.pool.query(`UPDATE ${table} SET failed_at = now() WHERE account_id = $1`, [busy.accountId]);
    }
  });

  it("lists the traces above an account's limit in one summary, which settles their alerts", async () => {
    const trace = await makeFailedTrace(database.pool);
    const alerts = [trace, ...(await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 9 }))];
    await start(redisUrl, { ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "4" });
    await queue(alerts, redisUrl);
    const mails = () => stub.mails.filter((mail) => mail.body.to === trace.email);
    const countAlerts = async (condition: string) => {
      const sql = `SELECT FROM alert WHERE account_id = $1 AND ${condition}`;
      return (await database.pool.query(sql, [trace.accountId])).rowCount;
    };
    await until(async () => (await countAlerts("held_until IS NOT NULL")) === 6 && mails().length >= 4);
    expect(mails()).toHaveLength(4);
    await database.pool.query("UPDATE delivery SET due_at = now() WHERE is_collecting");
    await until(async () => (await countAlerts("sent_at IS NOT NULL")) === 10);
    expect(mails().map(({ body }) => body.subject)).toContain("6 more failed traces");
    expect(mails()).toHaveLength(5);
    expect(await countAlerts("summary_id IS NOT NULL")).toBe(6);
  });
}

describe("the worker with its queue in Postgres", () => suite());
describeWithRedis("the worker with its queue in Redis", (redisUrl) => suite(redisUrl));

it("the worker sends every mail once while its queue is down, without a line for each", async () => {
  const trace = await makeFailedTrace(database.pool);
  const more = await makeMoreAlerts(database.pool, { accountId: trace.accountId, count: 20 });
  const { lines } = await start("redis://127.0.0.1:1");
  for (const alert of [trace, ...more]) await until(() => isSent(alert));
  for (const alert of [trace, ...more]) expect(mailsOf(alert)).toHaveLength(1);
  expect(lines.filter(({ level }) => level >= 40).length).toBeLessThan(10);
});

describe("a trace that nobody finishes", () => {
  it("leads to one mail file, with several workers at work, and only once it was silent for so long", async () => {
    const trace = await makeRunningTrace(database.pool, { quietSeconds: 60, spansQuietSeconds: [40, 31] });
    const folder = await mkdtemp(join(tmpdir(), "waymark-worker-"));
    closers.push(() => rm(folder, { recursive: true }));
    const env = { ...databaseVariables("worker", database.url), WORKER_METRICS_PORT: "0", WAYMARK_DATA_DIR: folder };
    const startWith = async (more: NodeJS.ProcessEnv) => {
      const { log, lines } = createTestLog();
      const worker = await startWorker(loadConfig({ ...env, ...more }), log);
      closers.push(() => worker.stop());
      return lines.find(({ msg }) => msg === "working")?.["jobs"];
    };
    const statusOf = async () =>
      (await database.pool.query("SELECT status FROM trace WHERE id = $1", [trace.traceId])).rows[0].status;
    expect(await startWith({})).toContain("close-stale-traces");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await statusOf()).toBe("running");

    await Promise.all([1, 2, 3].map(() => startWith({ TRACE_STALE_AFTER: "30s" })));
    const files = () => readdir(join(folder, "mails")).catch(() => []);
    await until(async () => (await files()).some((name) => name.endsWith(".eml")));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const mails = await files();
    expect(mails).toHaveLength(1);
    const mail = await readFile(join(folder, "mails", mails[0] ?? ""), "utf8");
    expect(mail).toContain(`To: ${trace.email}`);
    expect(mail).toMatch(/^Subject: .*a_silent_trace/m);
    expect(await statusOf()).toBe("timeout");
  });
});

describe("the worker's operations port", () => {
  it("is not ready without its queue", async () => {
    const { operations } = await start("redis://127.0.0.1:1");
    const ready = await fetch(`${operations}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { error: "Not ready: queue", checks: { database: "ok", queue: "failed" } },
    ]);
  });

  it("answers health, readiness by store, and metrics", async () => {
    const { operations } = await start();
    expect(await (await fetch(`${operations}/health`)).json()).toEqual({ status: "ok" });
    await until(async () => (await (await fetch(`${operations}/ready`)).text()).includes('"queue":"ok"'));
    const ready = await fetch(`${operations}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: "ok", checks: { database: "ok", queue: "ok" } },
    ]);
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    expect(metrics).toMatch(/^waymark_alerts_owed\{service="worker"\} \d+$/m);
    expect(metrics).toMatch(/^waymark_backup_age_seconds\{service="worker"\} \d/m);
    expect(metrics).toContain('waymark_ready{service="worker"} 1');
    // Before the first mail: an alert rule sees no first failure in a series that begins with it.
    for (const name of ["failure_mails", "failure_summaries", "deliveries"])
      expect(metrics).toMatch(new RegExp(`^waymark_${name}_total{outcome="failed",service="worker"} \\d+$`, "m"));
  });

  it("answers metrics with the last figures while the database does not answer", async () => {
    const hanging = {
      query: async () => ({ rows: [{ pending: 3, oldestSeconds: 60, oldestHeldSeconds: 90 }] }) as unknown,
    };
    const registry = createRegistry("worker");
    createWorkerMetrics(registry, hanging as unknown as pg.Pool);
    expect(await registry.metrics()).toContain('waymark_alerts_owed{service="worker"} 3');
    let asked = 0;
    hanging.query = () => {
      asked++;
      return new Promise(() => undefined);
    };
    for (let i = 0; i < 2; i++) {
      const text = await registry.metrics();
      expect(text).toContain('waymark_alerts_owed{service="worker"} 3');
      expect(text).toContain('waymark_alerts_owed_oldest_seconds{service="worker"} 60');
      expect(text).toContain('waymark_alerts_held_oldest_seconds{service="worker"} 90');
    }
    expect(asked).toBe(1);
  });
});

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { freePort, useDatabase } from "@waymark/testing";
import { MIGRATION_ADVISORY_LOCK_KEY } from "bullmq";
import { Redis } from "ioredis";
import { createGate, createOwnRedis, describeWithOwnRedis, type Gate, type OwnRedis } from "./own-redis.fixture.js";
import { createTestLog, forgetJobs, makePayload, until } from "./queue.fixture.js";
import { createQueue, createWorker, QueueUnavailableError } from "./queue.js";
import { queues } from "./queues.js";

const closers: (() => Promise<unknown>)[] = [];
const warnings: string[] = [];
const hearWarning = (warning: Error) => void warnings.push(String(warning));
beforeEach(() => void process.on("warning", hearWarning));
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  process.off("warning", hearWarning);
  expect(warnings.splice(0)).toEqual([]);
});

function open(server: { redisUrl?: string; databaseUrl: string }) {
  const { log, lines } = createTestLog();
  const queue = createQueue(queues.traceFinalized, { ...server, log });
  closers.push(() => queue.close());
  return { queue, lines };
}

function consume(server: { redisUrl?: string; databaseUrl: string }) {
  const { log, lines } = createTestLog();
  const seen: string[] = [];
  const worker = createWorker(queues.traceFinalized, {
    ...server,
    log,
    concurrency: 2,
    handler: async ({ alertId }) => {
      seen.push(alertId);
      return "done";
    },
  });
  closers.push(() => worker.close(5_000));
  return { seen, lines };
}

const isTaken = (work: Promise<void>) =>
  work.then(
    () => true,
    () => false,
  );

/** Adds many at once; how many were refused. Adding that waits for the server never settles. */
async function addMany(
  queue: { add(payloads: readonly ReturnType<typeof makePayload>[]): Promise<void> },
  count: number,
) {
  const results = await Promise.allSettled(Array.from({ length: count }, () => queue.add([makePayload()])));
  return results.filter((it) => it.status === "rejected" && it.reason instanceof QueueUnavailableError).length;
}

describeWithOwnRedis("an outage of Redis", () => {
  let redis: OwnRedis;
  beforeEach(async () => {
    redis = await createOwnRedis();
    closers.push(() => redis.stop());
  });
  const server = () => ({ redisUrl: redis.url, databaseUrl: "postgres://127.0.0.1:1/none" });

  it("makes adding fail at once, logs it once, and adding works again once Redis is back", async () => {
    await redis.start();
    const { queue, lines } = open(server());
    await queue.add([makePayload()]);
    await redis.stop();
    await until(() => lines.length > 0);
    const refused = await addMany(queue, 500);
    expect(refused).toBe(500);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(lines).toEqual(["warn queue is down: its work waits in the database, connecting goes on"]);
    await redis.start();
    await until(() => isTaken(queue.add([makePayload()])));
    expect(lines.slice(1)).toEqual(["info queue is up again"]);
  });

  it("at the start makes adding fail within two seconds, and the queue opens once Redis is there", async () => {
    const { queue, lines } = open(server());
    const refused = await addMany(queue, 50);
    expect(refused).toBe(50);
    await expect(queue.check()).rejects.toThrow(QueueUnavailableError);
    await redis.start();
    await until(() => isTaken(queue.check()));
    await queue.add([makePayload()]);
    expect(lines).toHaveLength(2);
  });

  it("that only reads, as a replica does, fails the check", async () => {
    await redis.start();
    const { queue } = open(server());
    await queue.check();
    const admin = new Redis(redis.url);
    closers.push(() => admin.quit());
    await admin.replicaof("127.0.0.1", String(await freePort()));
    await expect(queue.check()).rejects.toThrow(QueueUnavailableError);
    await admin.replicaof("NO", "ONE");
    await until(() => isTaken(queue.check()));
  });

  it("with open connections that answer nothing makes adding fail within two seconds", async () => {
    await redis.start();
    const { queue } = open(server());
    await queue.check();
    redis.freeze();
    const refused = await addMany(queue, 100);
    redis.thaw();
    expect(refused).toBe(100);
    await until(() => isTaken(queue.add([makePayload()])));
  });

  it("does not end a worker: it goes on when Redis is back with nothing in it", async () => {
    await redis.start();
    const { queue } = open(server());
    const { seen, lines } = consume(server());
    const [before, after] = [makePayload(), makePayload()];
    await queue.add([before]);
    await until(() => seen.length === 1);
    await redis.stop();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await redis.start();
    await until(() => isTaken(queue.add([after])));
    await until(() => seen.length === 2);
    expect(seen).toEqual([before.alertId, after.alertId]);
    expect(lines).toEqual([
      "warn queue is down: its work waits in the database, connecting goes on",
      "info queue is up again",
    ]);
  });

  it("at the start does not end a worker: it takes jobs once Redis is there", async () => {
    const { seen } = consume(server());
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await redis.start();
    const payload = makePayload();
    await open(server()).queue.add([payload]);
    await until(() => seen.includes(payload.alertId));
  });
});

describe("an outage of Postgres", () => {
  const database = useDatabase();
  let gate: Gate;
  let databaseUrl: string;
  beforeEach(async () => {
    await forgetJobs(database.pool);
    const url = new URL(database.directUrl);
    gate = await createGate({ host: url.hostname, port: Number(url.port) });
    closers.push(() => gate.shut());
    url.port = String(gate.port);
    databaseUrl = url.href;
  });

  it("makes adding fail, logs it once, and adding works again once Postgres is back", async () => {
    await gate.open();
    const { queue, lines } = open({ databaseUrl });
    await queue.add([makePayload()]);
    await gate.shut();
    const refused = await addMany(queue, 200);
    expect(refused).toBe(200);
    expect(lines).toEqual(["warn queue is down: its work waits in the database, connecting goes on"]);
    await gate.open();
    await until(() => isTaken(queue.add([makePayload()])));
    expect(lines.slice(1)).toEqual(["info queue is up again"]);
  });

  it("at the start makes adding fail at once, and the queue opens once Postgres is there", async () => {
    const { queue } = open({ databaseUrl });
    const refused = await addMany(queue, 50);
    expect(refused).toBe(50);
    await gate.open();
    await until(() => isTaken(queue.add([makePayload()])));
  });

  it("does not end a worker: it goes on when Postgres is back", async () => {
    await gate.open();
    const { queue } = open({ databaseUrl: database.directUrl });
    const { seen, lines } = consume({ databaseUrl });
    const [before, after] = [makePayload(), makePayload()];
    await queue.add([before]);
    await until(() => seen.length === 1);
    await gate.shut();
    await until(() => lines.length > 0);
    await queue.add([after]);
    await gate.open();
    await until(() => seen.length === 2);
    expect(seen).toEqual([before.alertId, after.alertId]);
    await until(() => lines.includes("info queue is up again"));
    // The outage may also cut the end of the first job, which is an error of its own.
    expect(lines.filter((line) => line.startsWith("warn queue is down"))).toHaveLength(1);
  });

  it("at the start does not end a worker: it takes jobs once Postgres is there", async () => {
    const { seen } = consume({ databaseUrl });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await gate.open();
    const payload = makePayload();
    await open({ databaseUrl: database.directUrl }).queue.add([payload]);
    await until(() => seen.includes(payload.alertId));
  });

  it("while BullMQ makes its tables ends neither side", async () => {
    const holder = await database.pool.connect();
    closers.push(async () => holder.release(true));
    await holder.query("BEGIN");
    await holder.query("SELECT pg_advisory_xact_lock($1, hashtext('bullmq'))", [MIGRATION_ADVISORY_LOCK_KEY]);
    await gate.open();
    const { queue } = open({ databaseUrl });
    const { seen } = consume({ databaseUrl });
    const waitingSql = `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`;
    await until(async () => (await database.pool.query(waitingSql)).rowCount === 2);
    await gate.shut();
    await holder.query("ROLLBACK");
    await gate.open();
    await until(() => isTaken(queue.add([makePayload()])));
    await until(() => seen.length > 0);
  });

  it("does not make an idle worker spin: it asks about once a second", async () => {
    const url = new URL(database.directUrl);
    url.port = String(await freePort());
    const before = process.cpuUsage();
    const { seen } = consume({ databaseUrl: url.href });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const { user, system } = process.cpuUsage(before);
    expect(seen).toEqual([]);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "@jest/globals";
import { describeWithProgram, describeWithRedis, freePort } from "@waymark/testing";
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter } from "../limits/index.js";
import { type AlertPayload, createTestLog, makePayload, until } from "./queue.fixture.js";
import { createQueue, createWorker, QueueUnavailableError } from "./queue.js";
import { queues } from "./queues.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function start(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: "ignore" });
  closers.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child;
}

/** A primary, a replica, a Sentinel, and HAProxy with the documented configuration before both. */
async function startServers() {
  const folder = await mkdtemp(join(tmpdir(), "waymark-sentinel-"));
  closers.push(() => rm(folder, { recursive: true }));
  const [first, second, sentinel, proxy] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const common = (port: number) => ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", folder];
  const primary = start("redis-server", common(first));
  start("redis-server", [...common(second), "--replicaof", `127.0.0.1 ${first}`]);
  const settings = ["down-after-milliseconds waymark 1000", "failover-timeout waymark 5000"];
  const lines = [`monitor waymark 127.0.0.1 ${first} 1`, ...settings].map((line) => `sentinel ${line}`);
  const file = join(folder, "sentinel.conf");
  await writeFile(file, [`port ${sentinel}`, "bind 127.0.0.1", `dir ${folder}`, ...lines, ""].join("\n"));
  start("redis-server", [file, "--sentinel"]);
  const documented = fileURLToPath(new URL("../../../../docker/failover/haproxy.cfg", import.meta.url));
  const text = await readFile(documented, "utf8");
  const configuration = text
    .replace(/^listen postgres\n(?:.+\n)+/m, "")
    .replace(/^ {2}server three .*\n/m, "")
    .replace("127.0.0.1:5001", `127.0.0.1:${proxy}`)
    .replace("10.0.0.1:6379", `127.0.0.1:${first}`)
    .replace("10.0.0.2:6379", `127.0.0.1:${second}`);
  await writeFile(join(folder, "haproxy.cfg"), configuration);
  start("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")]);
  await untilReplicaIsKnown(sentinel);
  return { redisUrl: `redis://127.0.0.1:${proxy}`, primary };
}

/** A Sentinel asks the primary for its replicas every ten seconds, and without a replica it never fails over. */
async function untilReplicaIsKnown(port: number): Promise<void> {
  const client = new Redis(port, "127.0.0.1");
  client.on("error", () => undefined);
  closers.push(() => client.disconnect());
  await until(async () => {
    const [replica] = (await client.call("SENTINEL", "replicas", "waymark").catch(() => [])) as string[][];
    return replica?.[replica.indexOf("master-link-status") + 1] === "ok";
  });
}

const describeWithBoth = (name: string, suite: () => void) =>
  describeWithRedis(name, () => describeWithProgram("haproxy", "and HAProxy", suite));

describeWithBoth("Redis with Sentinel", () => {
  it("fails over while jobs and limits go on: no job stays undone, and nobody restarts anything", async () => {
    const { redisUrl, primary } = await startServers();
    const server = { redisUrl, databaseUrl: "postgres://127.0.0.1:1/none", log: createTestLog().log };
    const queue = createQueue(queues.traceFinalized, server);
    closers.push(() => queue.close());
    const done = new Set<string>();
    const handler = async ({ alertId }: AlertPayload) => {
      done.add(alertId);
      return "done" as const;
    };
    const worker = createWorker(queues.traceFinalized, { ...server, concurrency: 4, handler });
    closers.push(() => worker.close(5_000));
    const pool = new pg.Pool();
    const limit = { name: "test", points: 1_000_000, windowSeconds: 600 };
    const limiter = createLimiter({ ...limit, redisUrl, pool, log: server.log });
    closers.push(() => limiter.close());
    const isTaken = (work: Promise<unknown>) => work.then(() => true).catch(() => false);
    const payloads = [makePayload()];
    // HAProxy takes both for primaries until its first checks are over.
    await until(() => isTaken(queue.add(payloads)));
    await until(() => isTaken(limiter.check()));

    let refused = 0;
    const addOne = async () => {
      const payload = makePayload();
      payloads.push(payload);
      await queue.add([payload]).catch((error) => {
        expect(error).toBeInstanceOf(QueueUnavailableError);
        refused++;
      });
      expect((await limiter.spend("client")).isAllowed).toBe(true);
      await wait(5);
    };
    for (let count = 0; count < 200; count++) await addOne();
    expect(refused).toBe(0);
    primary.kill("SIGKILL");
    while (refused === 0) await addOne();
    // Of reads the replica answers before it is the primary.
    await until(() => isTaken(queue.add(payloads.slice(0, 1))));
    await until(() => isTaken(limiter.check()));
    const after = refused;
    const first = payloads.length;
    for (let count = 0; count < 200; count++) await addOne();
    expect(refused).toBe(after);
    await until(() => payloads.slice(first).every(({ alertId }) => done.has(alertId)));
    // As the worker's sweep: what was refused, or acknowledged and not copied in time, is still pending in Postgres.
    await queue.add(payloads.filter(({ alertId }) => !done.has(alertId)));
    await until(() => done.size === payloads.length);
    expect((await limiter.spend("client")).remaining).toBeLessThan(limit.points - 200);
  });
});

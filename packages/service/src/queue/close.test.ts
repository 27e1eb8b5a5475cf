import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createGate, createOwnRedis, describeWithOwnRedis, type Gate, type OwnRedis } from "./own-redis.fixture.js";
import { createTestLog, forgetJobs, makePayload, until } from "./queue.fixture.js";
import { createQueue, createWorker, QueueUnavailableError } from "./queue.js";
import { queues } from "./queues.js";

let gate: Gate | undefined;

type Server = { redisUrl?: string; databaseUrl: string };

/** What the server does from the moment on that closing begins. */
interface Way {
  /** Called before the queue and the worker are opened. */
  start(): Promise<void>;
  /** Called before they are closed. */
  change(): Promise<void> | void;
}

/** Sockets and timers of this process, without those of the gate. */
const handles = () =>
  process.getActiveResourcesInfo().filter((it) => /^(Timeout|TCPSocketWrap|TCPConnectWrap)$/.test(it)).length -
  (gate?.socketCount ?? 0);
const wait = (timeMs: number) => new Promise((resolve) => setTimeout(resolve, timeMs));

function openBoth(server: Server, handler: () => Promise<unknown> = async () => "done") {
  const { log, lines } = createTestLog();
  const queue = createQueue(queues.traceFinalized, { ...server, log });
  const worker = createWorker(queues.traceFinalized, { ...server, log, concurrency: 2, handler });
  return { queue, worker, lines };
}

/** Longer than a test may take: closing that waits for so long fails. */
const never = 3_600_000;

/** Opens both sides, uses them where the server is there, and closes them twice while the server does what it does. */
async function closesCompletely(server: Server, way: Way, isUsable: boolean) {
  const handlesBefore = handles();
  await way.start();
  let runs = 0;
  const { queue, worker } = openBoth(server, async () => {
    runs++;
    return "done";
  });
  if (isUsable) await queue.add([makePayload()]);
  if (isUsable) await until(() => runs === 1);
  await wait(300);
  await way.change();
  await wait(300);
  const closing = worker.close(never);
  expect(worker.close(1)).toBe(closing);
  await Promise.all([closing, queue.close(), queue.close()]);
  await until(() => handles() <= handlesBefore);
  await expect(queue.add([makePayload()])).rejects.toThrow(QueueUnavailableError);
  expect(handles()).toBeLessThanOrEqual(handlesBefore);
}

describeWithOwnRedis("closing a queue and a worker on Redis leaves nothing open", () => {
  let redis: OwnRedis;
  let server: Server;
  beforeEach(async () => {
    redis = await createOwnRedis();
    server = { redisUrl: redis.url, databaseUrl: "postgres://127.0.0.1:1/none" };
  });
  afterEach(() => redis.stop());
  const start = () => redis.start();
  const nothing = async () => undefined;

  it("while all is well", () => closesCompletely(server, { start, change: nothing }, true));
  it("when Redis went away", () => closesCompletely(server, { start, change: () => redis.stop() }, true));
  it("when Redis answers nothing any more", () =>
    closesCompletely(server, { start, change: () => redis.freeze() }, true));
  it("when Redis was never there", () => closesCompletely(server, { start: nothing, change: nothing }, false));
  it("right after Redis came back", async () => {
    const change = async () => {
      await redis.stop();
      await wait(1_000);
      await redis.start();
    };
    await closesCompletely(server, { start, change }, true);
  });
  it("when Redis is back and answers nothing yet", async () => {
    const { hostname, port } = new URL(redis.url);
    const between = await createGate({ host: hostname, port: Number(port) });
    gate = between;
    const startBoth = async () => {
      await redis.start();
      await between.open();
    };
    const change = async () => {
      await between.shut();
      await between.open();
      between.freeze();
      await wait(500);
    };
    const through = { ...server, redisUrl: `redis://${hostname}:${between.port}` };
    await closesCompletely(through, { start: startBoth, change }, true);
    await between.shut();
  });
  it("when a job does not end", async () => {
    await redis.start();
    await leavesHungJob(server);
  });
});

describe("closing a queue and a worker on Postgres leaves nothing open", () => {
  const database = useDatabase();
  let server: Server;
  beforeEach(async () => {
    await forgetJobs(database.pool);
    const url = new URL(database.directUrl);
    gate = await createGate({ host: url.hostname, port: Number(url.port) });
    url.port = String(gate.port);
    server = { databaseUrl: url.href };
  });
  afterEach(() => gate?.shut());
  const start = async () => gate?.open();
  const nothing = async () => undefined;

  it("while all is well", () => closesCompletely(server, { start, change: nothing }, true));
  it("when Postgres went away", () => closesCompletely(server, { start, change: () => gate?.shut() }, true));
  it("when Postgres answers nothing any more", async () => {
    await closesCompletely(server, { start, change: () => gate?.freeze() }, true);
  });
  it("when Postgres was never there", () => closesCompletely(server, { start: nothing, change: nothing }, false));
  it("when Postgres never answered", async () => {
    const startFrozen = async () => {
      await gate?.open();
      gate?.freeze();
    };
    await closesCompletely(server, { start: startFrozen, change: nothing }, false);
  });
  it("right after Postgres came back", async () => {
    const change = async () => {
      await gate?.shut();
      await wait(1_000);
      await gate?.open();
    };
    await closesCompletely(server, { start, change }, true);
  });
  it("when a job does not end", async () => {
    await gate?.open();
    await leavesHungJob(server);
  });
});

async function leavesHungJob(server: Server) {
  const handlesBefore = handles();
  let isInHand = false;
  const { queue, worker } = openBoth(server, () => {
    isInHand = true;
    return new Promise(() => undefined);
  });
  await queue.add([makePayload()]);
  await until(() => isInHand);
  await worker.close(200);
  await queue.close();
  await until(() => handles() <= handlesBefore);
}

import { randomInt } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { describeWithRedis, useDatabase } from "@waymark/testing";
import { Redis } from "ioredis";
import { type AlertPayload, createTestLog, forgetJobs, makePayload, twoKinds, until } from "./queue.fixture.js";
import { createQueue, createWorker } from "./queue.js";
import { queues } from "./queues.js";

describe("the queue on Postgres", () => behavesAsQueue(undefined));
describeWithRedis("the queue on Redis", (redisUrl) => {
  // A numbered database of its own keeps test files apart.
  const url = new URL(redisUrl);
  url.pathname = `/${randomInt(1, 15)}`;
  afterEach(async () => {
    const redis = new Redis(url.href);
    await redis.flushdb();
    redis.disconnect();
  });
  behavesAsQueue(url.href);
});

function behavesAsQueue(redisUrl: string | undefined) {
  const server = useQueues(redisUrl);
  carriesPayloads(server);
  holdsOneJobOfAnId(server);
  repeatsJobs(server);
  boundsJobsInHand(server);
  opensQueues(server);
}

type Server = ReturnType<typeof useQueues>;

function useQueues(redisUrl: string | undefined) {
  const database = useDatabase();
  const closers: (() => Promise<void>)[] = [];
  const { log, lines } = createTestLog();
  beforeEach(() => forgetJobs(database.pool));
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    lines.length = 0;
  });

  const options = () => ({ redisUrl, databaseUrl: database.directUrl, log });
  function openQueue() {
    const queue = createQueue(queues.traceFinalized, options());
    closers.push(() => queue.close());
    return queue;
  }
  function openWorker(handler: (payload: AlertPayload) => Promise<unknown>, concurrency = 2) {
    const worker = createWorker(queues.traceFinalized, { ...options(), handler, concurrency });
    closers.push(() => worker.close(5_000));
    return worker;
  }
  return { options, openQueue, openWorker, closers, lines };
}

function carriesPayloads({ options, openQueue, openWorker, closers }: Server) {
  it("hands a payload to the worker, as it was added", async () => {
    const seen: AlertPayload[] = [];
    openWorker(async (payload) => {
      seen.push(payload);
      return "done";
    });
    const payload = makePayload();
    await openQueue().add([payload]);
    await until(() => seen.length === 1);
    expect(seen).toEqual([payload]);
  });

  it("carries a second kind of job beside the first, each to its own worker", async () => {
    const { traceFinalized, siteImported } = twoKinds;
    const alerts: AlertPayload[] = [];
    const days: string[] = [];
    openWorker(async (payload) => {
      alerts.push(payload);
      return "done";
    });
    const imports = createWorker(siteImported, {
      ...options(),
      concurrency: 1,
      handler: async ({ siteId, day }) => {
        days.push(`${siteId} ${day}`);
        return "done";
      },
    });
    const importQueue = createQueue(siteImported, options());
    closers.push(
      () => imports.close(5_000),
      () => importQueue.close(),
    );
    const payload = makePayload();
    const { accountId: siteId } = payload;
    await Promise.all([
      openQueue().add([payload]),
      importQueue.add([
        { siteId, day: "2026-01-31" },
        { siteId, day: "2026-02-01" },
        { siteId, day: "2026-01-31" },
      ]),
    ]);
    await until(() => alerts.length === 1 && days.length === 2);
    expect(alerts).toEqual([payload]);
    expect(days.sort()).toEqual([`${siteId} 2026-01-31`, `${siteId} 2026-02-01`]);
    expect(traceFinalized.name).toBe("trace-finalized");
  });
}

function holdsOneJobOfAnId({ options, openQueue, openWorker, closers, lines }: Server) {
  it("drops a job with the payload of another kind, with an error in the log", async () => {
    const { siteImported } = twoKinds;
    const foreign = createQueue({ ...queues.traceFinalized, name: siteImported.name }, options());
    const handled: unknown[] = [];
    const worker = createWorker(siteImported, {
      ...options(),
      concurrency: 1,
      handler: async (payload) => {
        handled.push(payload);
        return "done";
      },
    });
    closers.push(
      () => worker.close(5_000),
      () => foreign.close(),
    );
    await foreign.add([makePayload()]);
    await until(() => lines.includes("error job dropped: its payload is not one of ours"));
    expect(handled).toEqual([]);
  });

  it("runs an alert that is added three times once", async () => {
    const queue = openQueue();
    const payload = makePayload();
    const last = makePayload();
    await Promise.all([queue.add([payload]), queue.add([payload]), queue.add([payload])]);
    await queue.add([last]);
    const seen: string[] = [];
    openWorker(async ({ alertId }) => {
      seen.push(alertId);
      return "done";
    }, 1);
    await until(() => seen.includes(last.alertId));
    expect(seen).toEqual([payload.alertId, last.alertId]);
  });

  it("takes an alert again once its job is done, since finished jobs are not remembered", async () => {
    const queue = openQueue();
    const payload = makePayload();
    let runs = 0;
    openWorker(async () => {
      runs++;
      return "done";
    });
    await queue.add([payload]);
    await until(() => runs === 1);
    await until(async () => {
      await queue.add([payload]);
      return runs >= 2;
    });
  });
}

function repeatsJobs({ openQueue, openWorker, lines }: Server) {
  it("leaves an alert that waits to be tried again as it is, when it is added once more", async () => {
    const queue = openQueue();
    const payload = makePayload();
    let runs = 0;
    openWorker(async () => {
      if (++runs === 1) throw new Error("not now");
    });
    await queue.add([payload]);
    await until(() => runs === 1);
    await queue.add([payload]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(runs).toBe(1);
  });

  it("runs a job again whose handler threw, and logs what it threw", async () => {
    let runs = 0;
    openWorker(async () => {
      if (++runs === 1) throw new Error("the database went away");
      return "done";
    });
    await openQueue().add([makePayload()]);
    await until(() => runs === 2);
    expect(lines).toContain("error job failed unexpectedly");
  });
}

function boundsJobsInHand({ openQueue, openWorker }: Server) {
  it("runs as many jobs at once as its concurrency, and no more", async () => {
    const queue = openQueue();
    for (let i = 0; i < 9; i++) await queue.add([makePayload()]);
    let inHand = 0;
    let most = 0;
    let done = 0;
    openWorker(async () => {
      most = Math.max(most, ++inHand);
      await new Promise((resolve) => setTimeout(resolve, 50));
      inHand--;
      done++;
      return "done";
    }, 3);
    await until(() => done === 9);
    expect(most).toBe(3);
  });

  it("finishes the job in hand when it is closed, takes no other, and leaves that for the next worker", async () => {
    const queue = openQueue();
    const finished: string[] = [];
    const started: string[] = [];
    const slow = openWorker(async ({ alertId }) => {
      started.push(alertId);
      await new Promise((resolve) => setTimeout(resolve, 500));
      finished.push(alertId);
      return "done";
    }, 1);
    const [first, second] = [makePayload(), makePayload()];
    await queue.add([first]);
    await until(() => started.length === 1);
    await queue.add([second]);
    await slow.close(5_000);
    expect(started).toEqual([first.alertId]);
    expect(finished).toEqual([first.alertId]);
    openWorker(async ({ alertId }) => {
      finished.push(alertId);
      return "done";
    });
    await until(() => finished.length === 2);
    expect(finished).toEqual([first.alertId, second.alertId]);
  });

  it("gives up closing after the drain time", async () => {
    const hands: (() => void)[] = [];
    const worker = openWorker(async () => {
      await new Promise<void>((resolve) => hands.push(resolve));
      return "done";
    });
    await openQueue().add([makePayload()]);
    await until(() => hands.length === 1);
    await worker.close(200);
    hands[0]?.();
  });
}

function opensQueues({ openQueue, lines }: Server) {
  it("passes its check, and logs nothing while all is well", async () => {
    const queue = openQueue();
    await queue.check();
    await queue.add([makePayload()]);
    expect(lines).toEqual([]);
  });

  it("opens twenty at once on a fresh server", async () => {
    const queues = Array.from({ length: 20 }, openQueue);
    const payload = makePayload();
    // Each attempt has a time-out of its own, which a busy machine may reach; the next one finds the tables made.
    const succeeds = (attempt: () => Promise<unknown>) =>
      until(() =>
        attempt().then(
          () => true,
          () => false,
        ),
      );
    await Promise.all(queues.map((queue) => succeeds(() => queue.check())));
    await Promise.all(queues.map((queue) => succeeds(() => queue.add([payload]))));
  });
}

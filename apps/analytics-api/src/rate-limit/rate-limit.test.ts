import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { afterAll, describe, expect, it } from "@jest/globals";
import { describeWithRedis, useDatabase } from "@waymark/testing";
import { Redis } from "ioredis";
import { pino } from "pino";
import { type TestApp, useApp } from "../app.fixture.js";
import { createLimiter } from "./create-limiter.js";
import { createMemoryLimiter } from "./memory-limiter.js";

describe("the rate limit, counted in Postgres", () => {
  expectLimit(useApp());
});

describeWithRedis("the rate limit, counted in Redis", (redisUrl) => {
  expectLimit(useApp(redisUrl));
});

/** Holds for each store of counts. */
function expectLimit(test: TestApp): void {
  it("allows exactly 60 of 200 parallel requests of a key over two instances, and refuses the rest with 429", async () => {
    const account = await test.makeAccount();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => account.get("/api/v1/sites", n % 2 ? test.app : test.secondApp)),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(60);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(140);
    for (const { body, headers } of refused) {
      const seconds = Number(headers["retry-after"]);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(body).toEqual({ error: "Rate limit exceeded", limit: 60, retry_after: seconds });
      expect(headers).toMatchObject({
        "ratelimit-limit": "60",
        "ratelimit-remaining": "0",
        "ratelimit-reset": String(seconds),
      });
    }
  });

  it("counts down, and spends a request on whatever is answered after it", async () => {
    const account = await test.makeAccount();
    const remaining = async (path: string) => Number((await account.get(path)).headers["ratelimit-remaining"]);
    expect(await remaining("/api/v1/sites")).toBe(59);
    expect(await remaining("/api/v1/sites/x/stats?range=bad")).toBe(58);
    expect(await remaining("/api/v1/sites/x/stats")).toBe(57);
    expect(await remaining("/api/v1/none")).toBe(56);
  });

  it("comes before the plan, and counts each key for itself", async () => {
    const [free, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    const answers = await Promise.all(Array.from({ length: 61 }, () => free.get("/api/v1/sites")));
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(60).fill(403), 429]);
    await other.get("/api/v1/sites").expect(403);
  });
}

describe("the limiter in Postgres", () => {
  const database = useDatabase();

  it("starts a new window when the minute is over", async () => {
    const limiter = createLimiter({ redisUrl: undefined, pool: database.pool, log: pino({ level: "silent" }) });
    for (let n = 59; n >= 0; n--) expect(await limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: n });
    expect(await limiter.spend("key")).toMatchObject({ isAllowed: false, remaining: 0 });
    await database.pool.query("UPDATE rate_limit SET expire = $1", [Date.now() - 1]);
    const other = createLimiter({ redisUrl: undefined, pool: database.pool, log: pino({ level: "silent" }) });
    expect(await other.spend("key")).toMatchObject({ isAllowed: true, remaining: 59 });
  });
});

describeWithRedis("the limiter, when Redis is down", () => {
  const database = useDatabase();
  const running: { kill(): void }[] = [];
  afterAll(() => running.forEach((each) => void each.kill()));

  it("counts for itself meanwhile, says so once, and is back by itself", async () => {
    const port = await freePort();
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const limiter = createLimiter({ redisUrl: `redis://127.0.0.1:${port}`, pool: database.pool, log });
    for (let n = 0; n < 60; n++) expect((await limiter.spend("key")).isAllowed).toBe(true);
    expect((await limiter.spend("key")).isAllowed).toBe(false);
    await expect(limiter.check()).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(lines.filter((line) => line.includes("cannot be reached"))).toHaveLength(1);
    running.push(
      spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], { stdio: "ignore" }),
    );
    for (let n = 0; n < 100 && !lines.some((line) => line.includes("is back")); n++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await limiter.check();
    expect(await limiter.spend("fresh")).toMatchObject({ isAllowed: true, remaining: 59 });
    await limiter.close();
  });
});

describeWithRedis("the limiter, when Redis is frozen", () => {
  const database = useDatabase();

  it("sends it one command, counts for itself for five seconds, and then tries it with one command again", async () => {
    const port = await freePort();
    const server = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], {
      stdio: "ignore",
    });
    const redis = new Redis(`redis://127.0.0.1:${port}`, { retryStrategy: () => 50, maxRetriesPerRequest: null });
    redis.on("error", () => undefined);
    const counted = async () => Number(await redis.get("waymark:rate:statistics:key"));
    let now = 1_000_000;
    const url = `redis://127.0.0.1:${port}`;
    const log = pino({ level: "silent" });
    await redis.ping();
    const limiter = createLimiter({ redisUrl: url, pool: database.pool, log, now: () => now });
    try {
      for (let n = 0; n < 200 && !(await limiter.check().catch(() => undefined)); n++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      expect(await limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: 59 });
      server.kill("SIGSTOP");
      for (let n = 0; n < 20; n++) {
        expect(await limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: 59 - n });
      }
      now += 5_000;
      await Promise.all(Array.from({ length: 10 }, () => limiter.spend("key")));
      server.kill("SIGCONT");
      // One before the frost, one during it, one repeated.
      expect(await counted()).toBe(3);
      now += 5_000;
      expect(await limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: 56 });
      expect(await counted()).toBe(4);
    } finally {
      redis.disconnect();
      await limiter.close();
      server.kill("SIGKILL");
    }
  });
});

describe("the count in memory", () => {
  it("allows 60 in a minute, and starts anew after it", () => {
    let now = 0;
    const limiter = createMemoryLimiter(60, 60_000, () => now);
    for (let n = 59; n >= 0; n--) expect(limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: n });
    now = 59_999;
    expect(limiter.spend("key")).toEqual({ isAllowed: false, remaining: 0, resetSeconds: 1 });
    expect(limiter.spend("other")).toEqual({ isAllowed: true, remaining: 59, resetSeconds: 60 });
    now = 60_000;
    expect(limiter.spend("key")).toEqual({ isAllowed: true, remaining: 59, resetSeconds: 60 });
  });

  it("remembers 10,000 keys and no more", () => {
    const limiter = createMemoryLimiter(60, 60_000, () => 0);
    for (let n = 0; n < 10_100; n++) limiter.spend(`key-${n}`);
    expect(limiter.size).toBe(10_000);
    expect(limiter.spend("key-10099")).toMatchObject({ remaining: 58 });
    expect(limiter.spend("key-0")).toMatchObject({ remaining: 59 });
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

import { spawn } from "node:child_process";
import { afterAll, describe, expect, it } from "@jest/globals";
import { describeWithRedis, freePort, useDatabase } from "@waymark/testing";
import { Redis } from "ioredis";
import { pino } from "pino";
import { createLimiter } from "./create-limiter.js";

const perMinute = { name: "statistics", points: 60, windowSeconds: 60 };
const silent = pino({ level: "silent" });

describe("the limiter in Postgres", () => {
  const database = useDatabase();

  it("gives a spent request back", async () => {
    const limiter = createLimiter({ ...perMinute, redisUrl: undefined, pool: database.pool, log: silent });
    for (let n = 0; n < 60; n++) await limiter.spend("refunded");
    await limiter.refund("refunded");
    expect(await limiter.spend("refunded")).toMatchObject({ isAllowed: true, remaining: 0 });
    expect(await limiter.spend("refunded")).toMatchObject({ isAllowed: false });
  });

  it("counts each name for itself", async () => {
    const make = (name: string) =>
      createLimiter({ ...perMinute, name, points: 1, redisUrl: undefined, pool: database.pool, log: silent });
    const [one, other] = [make("one"), make("other")];
    expect([await one.spend("x"), await other.spend("x"), await one.spend("x")]).toMatchObject([
      { isAllowed: true },
      { isAllowed: true },
      { isAllowed: false },
    ]);
  });

  it("starts a new window when the minute is over", async () => {
    const limiter = createLimiter({
      ...perMinute,
      redisUrl: undefined,
      pool: database.pool,
      log: pino({ level: "silent" }),
    });
    for (let n = 59; n >= 0; n--) expect(await limiter.spend("key")).toMatchObject({ isAllowed: true, remaining: n });
    expect(await limiter.spend("key")).toMatchObject({ isAllowed: false, remaining: 0 });
    await database.pool.query("UPDATE rate_limit SET expire = $1", [Date.now() - 1]);
    const other = createLimiter({
      ...perMinute,
      redisUrl: undefined,
      pool: database.pool,
      log: pino({ level: "silent" }),
    });
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
    const limiter = createLimiter({ ...perMinute, redisUrl: `redis://127.0.0.1:${port}`, pool: database.pool, log });
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
    const limiter = createLimiter({ ...perMinute, redisUrl: url, pool: database.pool, log, now: () => now });
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

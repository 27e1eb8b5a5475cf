import { afterAll, describe, expect, it } from "@jest/globals";
import { createApiKey, createKeyDirectory } from "@waymark/auth";
import { createPool } from "@waymark/database";
import { createLogger, createRegistry } from "@waymark/service";
import { createLimiter } from "@waymark/service/limits";
import request from "supertest";
import { createApp } from "./app.js";
import { statisticsLimit } from "./guards.js";

/** Port 1 is never listened on, so connecting fails at once. */
const nobody = "127.0.0.1:1";

describe("while no store can be reached", () => {
  const connectionString = `postgres://waymark:waymark@${nobody}/waymark`;
  const log = createLogger({ service: "analytics-api", level: "silent" });
  const pool = createPool({ connectionString, maxConnections: 1, applicationName: "test", statementTimeoutMs: 1_000 });
  const keys = createKeyDirectory({ service: "analytics", pool, connectionString, log });
  const limiter = createLimiter({ ...statisticsLimit, redisUrl: `redis://${nobody}`, pool, log });
  const checks = { required: { database: () => pool.query("SELECT 1") }, bridged: { redis: () => limiter.check() } };
  const registry = createRegistry("analytics-api");
  const app = createApp({ pool, keys, limiter, checks, log, registry, now: () => new Date() });
  afterAll(async () => {
    await keys.stop();
    await limiter.close();
    await pool.end();
  });

  it("answers a good key with 503 and when to try again", async () => {
    const answer = await request(app)
      .get("/api/v1/sites")
      .set("Authorization", `Bearer ${createApiKey("analytics").key}`)
      .expect(503);
    expect(answer.body).toEqual({ error: "Service temporarily unavailable" });
    expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  });

  it("still refuses a malformed key, without asking the database", async () => {
    await request(app).get("/api/v1/sites").set("Authorization", "Bearer x").expect(401);
  });

  it("is alive and not ready, and names what fails", async () => {
    await request(app).get("/health").expect(200, { status: "ok" });
    await request(app)
      .get("/ready")
      .expect(503, { error: "Not ready: database", checks: { database: "failed", redis: "failed" } });
  });
});

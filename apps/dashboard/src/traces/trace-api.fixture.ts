import { afterAll, beforeAll } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { createKeyDirectory, type KeyDirectory } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { createLogger, createRegistry } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import { directUrlOf } from "@waymark/testing";
import type { Express } from "express";
import request from "supertest";
import { createApp } from "../../../trace-api/src/app.js";
import { createAnswerBudget } from "../../../trace-api/src/limits/budgets.js";
import { createTraceFeed, type TraceFeed } from "../../../trace-api/src/stream/trace-feed.js";
import { ByteReserve } from "../../../trace-api/src/usage/byte-reserve.js";
import type { TestDashboard } from "../dashboard.fixture.js";

const bodyLimitBytes = 4 * 1_048_576;

/** The trace API on the dashboard's database and at its own time, for comparisons. No limit of requests. */
export function useTraceApi({ pool, databaseUrl }: TestDashboard, { dashboardUrl }: { dashboardUrl?(): string } = {}) {
  const log = createLogger({ service: "trace-api", level: "silent" });
  let current = () => new Date();
  let keys: KeyDirectory | undefined;
  let app: Express | undefined;
  let feed: TraceFeed | undefined;
  let reserve: ByteReserve | undefined;
  beforeAll(() => {
    keys = createKeyDirectory({ service: "trace", pool, connectionString: directUrlOf(databaseUrl), log });
    const [checks, registry, uuid] = [{ required: {} }, createRegistry("trace-api"), createUuidV7()];
    const limits = { bodyLimitBytes, rateLimitPerSecond: 0 };
    const alerts = { add: () => undefined };
    const now = () => current();
    const refusals = createRefusals(registry);
    const answers = createAnswerBudget(refusals);
    feed = createTraceFeed({ pool, log, registry, refusals, answers: answers.shares, now });
    reserve = new ByteReserve(pool, log);
    const deps = { pool, reserve, keys, alerts, checks, log, registry, uuid, now, feed, answers };
    app = createApp({ ...deps, ...limits, dashboardUrl: dashboardUrl?.() });
  });
  afterAll(async () => {
    feed?.stop();
    await reserve?.stop();
    await keys?.stop();
  });
  return {
    setNow(moment: Date) {
      current = () => moment;
    },
    /** Requests with a new key of the account. */
    async client(accountId: string) {
      const { key } = await issueKey(pool, { accountId, service: "trace", name: "test" });
      const authorized = (test: request.Test) => test.set("Authorization", `Bearer ${key}`);
      return {
        get: (path: string) => authorized(request(app ?? "").get(path)),
        post: (path: string, body: object) => authorized(request(app ?? "").post(path)).send(body),
        patch: (path: string, body: object) => authorized(request(app ?? "").patch(path)).send(body),
      };
    },
  };
}

import { Readable } from "node:stream";
import { afterAll } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createKeyDirectory } from "@waymark/auth";
import { createPool, createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type { PlanId } from "@waymark/plan";
import { createLogger, createRegistry } from "@waymark/service";
import { createLimiter } from "@waymark/service/limits";
import { useDatabase, useInstances, useServiceRole } from "@waymark/testing";
import { importEvents } from "@waymark/web-stats/analytics";
import type { Express } from "express";
import request from "supertest";
import { createApp } from "./app.js";
import { statisticsLimit } from "./guards.js";

/** A line of an import. */
export type Line = Record<string, unknown> & { ts: string };

/** A row of `daily_stat`: dimension, day, value, visitors, page views. */
export type StatEntry = [dimension: string, day: string, value: string, visitors: number, pageviews: number];

/** Two instances of the real app on a database of their own. */
export interface TestApp {
  readonly app: Express;
  readonly secondApp: Express;
  readonly pool: ReturnType<typeof createPool>;
  /** Past a pooler, for imports. */
  readonly directPool: TestApp["pool"];
  /** Sets the moment, and so the UTC day that is "today" and which keys have ended. */
  setNow(moment: Date): void;
  makeAccount(plan?: PlanId): Promise<TestAccount>;
  /** Inserts rows into `daily_stat` that no import makes. */
  addStats(siteId: string, entries: StatEntry[]): Promise<void>;
}

export interface TestAccount {
  readonly id: string;
  readonly key: string;
  get(path: string, app?: Express): request.Test;
  /** Creates a site with imported events, and returns its id. */
  makeSite(lines?: Line[], domain?: string): Promise<string>;
}

async function addStats(pool: TestApp["pool"], siteId: string, entries: StatEntry[]): Promise<void> {
  const columns = [0, 1, 2, 3, 4].map((column) => entries.map((entry) => entry[column]));
  const sql = `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews)
    SELECT $1, * FROM unnest($2::text[], $3::date[], $4::text[], $5::int[], $6::int[])`;
  await pool.query(sql, [siteId, ...columns]);
}

/** The app as production builds it. The rate counters are in Postgres or, with a URL, in Redis. */
export function useApp(
  redisUrl?: string,
  statementTimeoutMs = 10_000,
  log = createLogger({ service: "analytics-api", level: "silent" }),
): TestApp {
  const database = useDatabase();
  const pool = createPool({
    ...useServiceRole("analytics-api", database.url, { statement_timeout: statementTimeoutMs }),
    maxConnections: 10,
    applicationName: "test",
    statementTimeoutMs,
  });
  const prisma = createPrisma(pool);
  const uuid = createUuidV7();
  let current = () => new Date();

  const instance = useInstances(() => {
    const now = () => current().getTime();
    const keys = createKeyDirectory({ service: "analytics", pool, connectionString: database.directUrl, log, now });
    const limiter = createLimiter({ ...statisticsLimit, redisUrl, pool, log });
    const checks = {
      required: { database: () => pool.query("SELECT 1") },
      bridged: { limiter: () => limiter.check() },
    };
    const registry = createRegistry("analytics-api");
    return {
      app: createApp({ pool, keys, limiter, checks, log, registry, now: () => current() }),
      stop: () => Promise.all([keys.stop(), limiter.close()]),
    };
  });
  afterAll(() => pool.end());

  let accounts = 0;
  return {
    get app() {
      return instance(0);
    },
    get secondApp() {
      return instance(1);
    },
    pool,
    directPool: database.directPool,
    setNow: (moment) => {
      current = () => moment;
    },
    addStats: (siteId, entries) => addStats(pool, siteId, entries),
    async makeAccount(plan = "pro") {
      const { id } = await createAccount(prisma, { email: `account-${++accounts}@example.com`, plan });
      const { key } = await issueKey(pool, { accountId: id, service: "analytics", name: "test" });
      return {
        id,
        key,
        get: (path, app = instance(0)) => request(app).get(path).set("Authorization", `Bearer ${key}`),
        async makeSite(lines = [], domain = "example.com") {
          const siteId = uuid();
          await prisma.site.create({ data: { id: siteId, accountId: id, domain, name: `The ${domain}` } });
          const input = Readable.from(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
          const result = await importEvents({ pool: database.directPool, site: { id: siteId, domain }, input });
          if (result.imported !== lines.length) throw new Error(`imported ${JSON.stringify(result)}`);
          return siteId;
        },
      };
    },
  };
}

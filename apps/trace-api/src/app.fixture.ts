import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createKeyDirectory } from "@waymark/auth";
import { createPool, createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type { PlanId } from "@waymark/plan";
import { createLogger, createRegistry } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import { useDatabase, useServiceRole } from "@waymark/testing";
import type { Express } from "express";
import pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import request from "supertest";
import { createApp } from "./app.js";
import { createAnswerBudget } from "./limits/budgets.js";
import { type ChannelsOptions, createTraceFeed } from "./stream/trace-feed.js";
import { ByteReserve } from "./usage/byte-reserve.js";

/** The real app on a database of its own, with a clock and the queued alerts. */
export interface TestApp {
  readonly app: Express;
  readonly pool: ReturnType<typeof createPool>;
  readonly databaseUrl: string;
  readonly registry: Registry;
  readonly queued: { accountId: string; alertId: string }[];
  /** Sets the time of the monthly limits. */
  setNow(moment: Date): void;
  /** Runs a statement in its own transaction and keeps that open. */
  hold(sql: string, values?: unknown[]): Promise<HeldTransaction>;
  /** Waits until a statement of the app waits for another session's lock. */
  untilLockWaits(): Promise<void>;
  /** Waits until so many rows wait for a batched statement. */
  untilWaiting(statement: string, rows: number): Promise<void>;
  /**
   * Starts another instance of the app on the same database with its own connections.
   * @returns a function that sends an account's requests there
   */
  startInstance(): Promise<(account: TestAccount) => TestAccount>;
  /** Makes an account with a key of the trace service. */
  makeAccount(plan: PlanId): Promise<TestAccount>;
}

/** An open transaction with its locks. */
interface HeldTransaction {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** An account, and requests in its name. */
export interface TestAccount {
  id: string;
  key: string;
  post(path: string, body?: unknown): request.Test;
  patch(path: string, body?: unknown): request.Test;
  get(path: string): request.Test;
  head(path: string): request.Test;
  delete(path: string): request.Test;
  /** Creates a trace and returns its id. */
  makeTrace(changes?: Record<string, unknown>): Promise<string>;
}

/** A body for a new trace. */
export function traceBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { agent_id: "agent", name: "A run", status: "running", started_at: "2026-06-01T12:00:00.000Z", ...changes };
}

/** A body for a new span. */
export function spanBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: "a step", status: "ok", started_at: "2026-06-01T12:00:01.000Z", ...changes };
}

interface AppOptions {
  bodyLimitBytes?: number;
  rateLimitPerSecond?: number;
  lockTimeoutMs?: number;
  log?: Logger;
}

/** The app under test, as production builds it. */
export function useApp(options: AppOptions = {}): TestApp {
  const database = useDatabase();
  const queued: TestApp["queued"] = [];
  const log = options.log ?? createLogger({ service: "trace-api", level: "silent" });
  const registry = createRegistry("trace-api");
  let current = () => new Date();
  const stops: (() => Promise<void>)[] = [];
  let app: Express | undefined;
  const openPool = usePools(database.url, options.lockTimeoutMs);
  const pool = openPool();
  const prisma = createPrisma(pool);

  const build = (ownPool: ReturnType<typeof createPool>, ownRegistry: Registry) => {
    const keys = createKeyDirectory({ service: "trace", pool: ownPool, connectionString: database.directUrl, log });
    const reserve = new ByteReserve(ownPool, log);
    stops.push(reserve.stop.bind(reserve), keys.stop, () => ownPool.end());
    return createApp({
      ...openFeed(stops, { pool: ownPool, log, registry: ownRegistry, now: () => current() }),
      pool: ownPool,
      keys,
      reserve,
      alerts: { add: (alert) => void queued.push(alert) },
      checks: { required: { database: () => ownPool.query("SELECT 1") } },
      log,
      registry: ownRegistry,
      bodyLimitBytes: options.bodyLimitBytes ?? 4 * 1_048_576,
      rateLimitPerSecond: options.rateLimitPerSecond ?? 2_000,
      uuid: createUuidV7(),
      now: () => current(),
    });
  };
  beforeAll(() => {
    app = build(pool, registry);
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
  });

  const running = (): Express => {
    if (!app) throw new Error("The app starts in beforeAll");
    return app;
  };
  let accounts = 0;
  return {
    get app() {
      return running();
    },
    pool,
    databaseUrl: database.url,
    registry,
    queued,
    setNow: (moment) => {
      current = () => moment;
    },
    hold: (sql, values = []) => hold(database.url, stops, sql, values),
    untilLockWaits: () => untilLockWaits(pool),
    untilWaiting: (statement, rows) => untilRowsWait(registry, statement, rows),
    async startInstance() {
      const instance = build(openPool(), createRegistry("trace-api"));
      return ({ id, key }) => actAs(instance, id, key);
    },
    async makeAccount(plan) {
      const account = await createAccount(prisma, { email: `account-${++accounts}@example.com`, plan });
      const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
      return actAs(running(), account.id, key);
    },
  };
}

function openFeed(stops: (() => Promise<void>)[], options: ChannelsOptions) {
  const refusals = createRefusals(options.registry);
  const answers = createAnswerBudget(refusals);
  const feed = createTraceFeed({ ...options, refusals, answers: answers.shares });
  stops.unshift(async () => feed.stop());
  return { feed, answers };
}

async function untilRowsWait(registry: Registry, statement: string, rows: number): Promise<void> {
  const waiting = registry.getSingleMetric("waymark_rows_waiting");
  for (const until = Date.now() + 120_000; Date.now() < until; await setTimeout(5)) {
    const values = (await waiting?.get())?.values ?? [];
    if (values.some(({ labels, value }) => labels["statement"] === statement && value >= rows)) return;
  }
  throw new Error(`${rows} rows of ${statement} did not come to wait`);
}

function usePools(databaseUrl: string, lockTimeoutMs = 1_000) {
  const role = useServiceRole("trace-api", databaseUrl, { lock_timeout: lockTimeoutMs });
  const limits = { statementTimeoutMs: 10_000, lockTimeoutMs, plansOnce: true };
  return () => createPool({ ...role, ...limits, maxConnections: 10, applicationName: "test" });
}

async function hold(connectionString: string, stops: (() => Promise<void>)[], sql: string, values: unknown[]) {
  const holder = new pg.Client({ connectionString });
  let isOpen = true;
  const end = async (how: "COMMIT" | "ROLLBACK") => {
    if (!isOpen) return;
    isOpen = false;
    await holder.query(how);
    await holder.end();
  };
  // A failed test must not leave the lock: others would wait for it.
  stops.unshift(() => end("ROLLBACK"));
  await holder.connect();
  await holder.query("BEGIN");
  await holder.query(sql, values);
  return { commit: () => end("COMMIT"), rollback: () => end("ROLLBACK") };
}

async function untilLockWaits(pool: pg.Pool): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'test'`;
  for (const until = Date.now() + 120_000; Date.now() < until; await setTimeout(5))
    if ((await pool.query(sql)).rowCount) return;
  throw new Error("No statement came to wait");
}

function withBody(test: request.Test, body: unknown): request.Test {
  return body === undefined ? test : test.send(body as object);
}

function actAs(app: Express, id: string, key: string): TestAccount {
  const authorized = (test: request.Test) => test.set("Authorization", `Bearer ${key}`);
  const account: TestAccount = {
    id,
    key,
    post: (path, body) => withBody(authorized(request(app).post(path)), body),
    patch: (path, body) => withBody(authorized(request(app).patch(path)), body),
    get: (path) => authorized(request(app).get(path)),
    head: (path) => authorized(request(app).head(path)),
    delete: (path) => authorized(request(app).delete(path)),
    async makeTrace(changes = {}) {
      const answer = await account.post("/api/v1/traces", traceBody(changes)).expect(201);
      return answer.body.trace_id;
    },
  };
  return account;
}

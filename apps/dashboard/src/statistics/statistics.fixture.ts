import { Readable } from "node:stream";
import { afterAll, beforeAll } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { createKeyDirectory, type KeyDirectory } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { createLogger, createRegistry } from "@waymark/service";
import { directUrlOf } from "@waymark/testing";
import { importEvents } from "@waymark/web-stats/analytics";
import type { Express } from "express";
import request from "supertest";
import { createApp as createAnalyticsApi } from "../../../analytics-api/src/app.js";
import type { TestDashboard } from "../dashboard.fixture.js";

/** A line of an import. */
export type Line = Record<string, unknown> & { ts: string };

const uuid = createUuidV7();

/** Creates a site with imported events, and returns its id. */
export async function makeSite(
  { pool, directPool }: TestDashboard,
  { accountId, domain = "example.com", lines = [] }: { accountId: string; domain?: string; lines?: readonly Line[] },
): Promise<string> {
  const siteId = uuid();
  const sql = "INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, $4)";
  await pool.query(sql, [siteId, accountId, domain, `The ${domain}`]);
  const input = Readable.from(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
  const { imported } = await importEvents({ pool: directPool, site: { id: siteId, domain }, input });
  if (imported !== lines.length) throw new Error(`imported ${imported} of ${lines.length}`);
  return siteId;
}

/** Requests of machines in the last two weeks, also of a page that nobody visits. */
export async function insertMachines(pool: TestDashboard["pool"], siteId: string, now = new Date()): Promise<void> {
  const sql = `
    INSERT INTO machine_day (site_id, day, machine, path, purpose, requests, verified, refuted, errors, missing, blocked, failed)
    SELECT $1, ($2::timestamptz AT TIME ZONE 'UTC')::date - n % 14, machine, '/page-' || n % 16, purpose, 7 + n, 5, n % 2, 3, 2, 1, 0
    FROM generate_series(1, 60) n,
      (VALUES ('GPTBot', 'training'), ('ChatGPT-User', 'assistant'), ('ClaudeBot', 'training'), ('other', 'other')) AS each (machine, purpose)
    ON CONFLICT DO NOTHING`;
  await pool.query(sql, [siteId, now]);
  const totals = `
    INSERT INTO machine_total SELECT site_id, day, machine, min(purpose), sum(requests), sum(verified), sum(refuted), sum(errors),
      sum(missing), sum(blocked), sum(failed)
    FROM machine_day WHERE site_id = $1 GROUP BY site_id, day, machine`;
  await pool.query(totals, [siteId]);
}

/** What agents cost for visits of yesterday. */
export async function insertCosts(pool: TestDashboard["pool"], siteId: string, now = new Date()): Promise<void> {
  const sql = `
    INSERT INTO visit_cost (site_id, dimension, day, value, visits, runs, failures, cost, duration_ms, conversions, revenue)
    SELECT $1, dimension, ($2::timestamptz AT TIME ZONE 'UTC')::date - 1, value, 40, 55, 3, 0.8125, 91000, 4, revenue::json
    FROM (VALUES ('channel', 'AI Assistants', '[{"currency":"EUR","amount":"196"}]'), ('channel', 'Search', '[]'), ('channel', '(other)', '[]'),
      ('source', 'ChatGPT', '[]'), ('page', '/a/long/path/of/a/page/that/visits/began/with', '[]'), ('goal', 'Buy', '[]')) AS row (dimension, value, revenue)`;
  await pool.query(sql, [siteId, now]);
}

/** The analytics API on the dashboard's database and at its own time, for comparisons. No limit of requests. */
export function useAnalyticsApi({ pool, databaseUrl }: TestDashboard) {
  const log = createLogger({ service: "analytics-api", level: "silent" });
  let current = new Date();
  let keys: KeyDirectory | undefined;
  let app: Express | undefined;
  beforeAll(() => {
    keys = createKeyDirectory({ service: "analytics", pool, connectionString: directUrlOf(databaseUrl), log });
    const spend = async () => ({ isAllowed: true, remaining: 1, resetSeconds: 1 });
    const [checks, registry] = [{ required: {} }, createRegistry("analytics-api")];
    app = createAnalyticsApi({ pool, keys, limiter: { spend }, checks, log, registry, now: () => current });
  });
  afterAll(() => keys?.stop());
  return {
    setNow(moment: Date) {
      current = moment;
    },
    /** @returns a function that asks for a path below `/api/v1` with a new key of the account */
    async client(accountId: string) {
      const { key } = await issueKey(pool, { accountId, service: "analytics", name: "test" });
      return (path: string, accept = "application/json") =>
        request(app ?? "")
          .get(`/api/v1${path}`)
          .set({ Authorization: `Bearer ${key}`, Accept: accept });
    },
  };
}

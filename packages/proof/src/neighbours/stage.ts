import { join } from "node:path";
import { createSite, issueKey } from "@waymark/accounts";
import { prepareDatabase } from "@waymark/cli";
import { createPool, createUuidV7 } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import type pg from "pg";
import { fillSite } from "../fuzz/plan-costly.js";
import {
  freePorts,
  launch,
  makeFolder,
  type ServiceName,
  waitUntilReady,
  withoutRateLimits,
} from "../system/start-system.js";
import { createTenant, type Tenant } from "../system/tenant.js";
import type { Undo } from "../system/undo.js";
import type { Target } from "./attacks.js";
import type { Victim } from "./victim.js";

export type Stage = Awaited<ReturnType<typeof openStage>>;

const longPaths = 6_048;
const unstoredEvents = 34_560;
const keysOfStatistics = 60;
const dashboardUrl = "http://localhost:4000";

type FillSite = (site: Pick<Tenant, "domain">, count: number) => Promise<void> | undefined;

interface StageOptions {
  /** Whether statistics are asked for. The attacker's page views take the collector minutes. */
  withPageViews: boolean;
  say(line: string): void;
}

/** Opens a Postgres with an attacker and a victim, and sends the attacker's page views through the collector. */
export async function openStage({ withPageViews, say }: StageOptions, undo: Undo) {
  const folder = await makeFolder(undo);
  const postgres = await startEmbeddedPostgres({ folder: join(folder, "postgres") });
  undo(() => postgres.stop());
  const { connectionString } = postgres;
  await prepareDatabase(connectionString, undefined);
  const options = { maxConnections: 3, applicationName: "neighbours", statementTimeoutMs: 0 };
  const pool = createPool({ connectionString, ...options });
  undo(() => pool.end());
  /** Starts a service of a build. */
  const start = async (name: ServiceName, build?: string) => {
    const ports = await freePorts();
    const env = {
      ...withoutRateLimits,
      TRUSTED_PROXIES: "loopback",
      // Of earlier builds.
      COLLECTOR_RATE_LIMIT_PER_SITE: "0",
      DATABASE_URL: connectionString,
      DIRECT_DATABASE_URL: connectionString,
      DASHBOARD_URL: dashboardUrl,
    };
    const app = launch(name, { build, folder, ports, env });
    // Earlier builds do not tell this process that they are ready.
    await waitUntilReady(`http://127.0.0.1:${ports.metricsPort}`);
    return { app, port: ports.port };
  };
  const collector = await start("collector");
  const url = `http://127.0.0.1:${collector.port}`;
  const fill: FillSite = (site, count) => (withPageViews ? fillSite(url, site, count) : undefined);
  const [target, victim] = await makeAccounts(pool, fill, say);
  await collector.app.stop();
  return { target, victim, start };
}

async function makeAccounts(
  pool: pg.Pool,
  fill: FillSite,
  say: (line: string) => void,
): Promise<[Omit<Target, "port">, Victim]> {
  const store = { pool, url: () => dashboardUrl };
  const [attacker, victim] = [await createTenant(store, "attacker"), await createTenant(store, "victim")];
  const [attackerTraces, victimTraces] = [await makeTraces(pool, attacker), await makeTraces(pool, victim)];
  await fill(attacker, longPaths);
  say(`${longPaths} page views with long paths are stored`);
  const unstoredSites: string[] = [];
  for (const name of ["unstored-1", "unstored-2", "unstored-3"]) {
    const domain = `${name}.example.com`;
    const { site } = await createSite(pool, { accountId: attacker.accountId, domain, name });
    await fill({ domain }, unstoredEvents);
    unstoredSites.push(site.id);
  }
  say(`${unstoredEvents} events of each of three sites are stored`);
  await makeGoals(pool, attacker.siteId);
  const heavy = { trace: attackerTraces[2] ?? "", count: 5, length: 4 * 1_048_576 - 2 };
  const small = { trace: victimTraces[0] ?? "", count: 50, length: 400 };
  return [
    {
      ...attacker,
      statisticsKeys: await makeKeys(pool, attacker),
      traces: attackerTraces,
      heavyTrace: await makeSpans(pool, attacker, heavy),
      pathsSite: attacker.siteId,
      unstoredSites,
    },
    {
      ...victim,
      traces: victimTraces.slice(1),
      statisticsKeys: await makeKeys(pool, victim),
      readTrace: await makeSpans(pool, victim, small),
    },
  ];
}

async function makeKeys(pool: pg.Pool, { accountId }: Tenant): Promise<string[]> {
  const keys: string[] = [];
  for (let n = 0; n < keysOfStatistics; n++) {
    keys.push((await issueKey(pool, { accountId, service: "analytics", name: "bench" })).key);
  }
  return keys;
}

async function makeTraces(pool: pg.Pool, { accountId }: Tenant): Promise<string[]> {
  const traces = Array.from({ length: 300 }, createUuidV7());
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
     SELECT $1, id, $3, $4, 'running', now() FROM unnest($2::uuid[]) AS t (id)`,
    [accountId, traces, "a".repeat(255), "n".repeat(1_000)],
  );
  return traces;
}

async function makeSpans(
  pool: pg.Pool,
  { accountId }: Tenant,
  { trace, count, length }: { trace: string; count: number; length: number },
): Promise<string> {
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
     SELECT $1, $2, gen_random_uuid(), 'step', 'ok', now(), to_json(repeat('x', $3)) FROM generate_series(1, $4)`,
    [accountId, trace, length, count],
  );
  return trace;
}

/** Goals as an earlier release allowed them: a hundred pages of 900 stars. */
async function makeGoals(pool: pg.Pool, siteId: string): Promise<void> {
  await pool.query(
    `INSERT INTO goal (id, site_id, name, page) SELECT gen_random_uuid(), $1, 'goal ' || n, '/' || repeat('*a', 899) || '*' || n
     FROM generate_series(1, 100) AS n`,
    [siteId],
  );
}

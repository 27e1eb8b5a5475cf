import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSite, issueKey } from "@waymark/accounts";
import { prepareDatabase } from "@waymark/cli";
import { createPool, createUuidV7, withTransaction } from "@waymark/database";
import { type AppProcess, startEmbeddedPostgres } from "@waymark/local";
import type pg from "pg";
import { fillSite } from "../fuzz/plan-costly.js";
import { createTenant, type Tenant } from "../fuzz/tenant.js";
import { startService } from "../system/start-service.js";
import type { Target } from "./attacks.js";
import type { Victim } from "./victim.js";

export interface Stage {
  readonly target: Omit<Target, "port">;
  readonly victim: Victim;
  /** Starts an app of a build with the flags of its image. */
  start(app: string, build?: string): Promise<{ port: number; process: AppProcess }>;
  /** Ends the session, and so the apps' memory of it. */
  stop(): Promise<void>;
}

const longPaths = 6_048;
const unstoredEvents = 34_560;
const keysOfStatistics = 60;
const dashboardUrl = "http://localhost:4000";
const root = fileURLToPath(new URL("../../../../", import.meta.url));

type SiteToFill = Parameters<typeof fillSite>[1];

interface StageOptions {
  /** Whether statistics are asked for. The attacker's page views take the collector minutes. */
  withPageViews: boolean;
  say(line: string): void;
}

/** Opens a Postgres with an attacker and a victim, and sends the attacker's page views through the collector. */
export async function openStage({ withPageViews, say }: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-neighbours-"));
  const postgres = await startEmbeddedPostgres({ folder: join(folder, "postgres") });
  const undo = [() => rm(folder, { recursive: true, force: true }), () => postgres.stop()];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const start = (app: string, build = root) =>
    startService(app, { build, folder, databaseUrl: postgres.connectionString, env: { DASHBOARD_URL: dashboardUrl } });
  try {
    await prepareDatabase(postgres.connectionString, undefined);
    const options = { maxConnections: 3, applicationName: "neighbours", statementTimeoutMs: 0 };
    const pool = createPool({ connectionString: postgres.connectionString, ...options });
    undo.push(() => pool.end());
    const collector = await start("collector");
    const url = `http://127.0.0.1:${collector.port}`;
    const fill = (site: SiteToFill, count: number) => (withPageViews ? fillSite(url, site, count) : undefined);
    const [target, victim] = await makeAccounts(pool, { fill, say });
    await collector.process.stop();
    return { target, victim, start, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeAccounts(
  pool: pg.Pool,
  { fill, say }: { fill(site: SiteToFill, count: number): Promise<void> | undefined; say(line: string): void },
): Promise<[Omit<Target, "port">, Victim]> {
  const store = { pool, url: () => dashboardUrl };
  const [attacker, victim] = [await createTenant(store, "attacker"), await createTenant(store, "victim")];
  const [attackerTraces, victimTraces] = [await makeTraces(pool, attacker), await makeTraces(pool, victim)];
  // No quota ends a run early.
  await pool.query("UPDATE account SET plan = 'pro'");
  const unstored = await Promise.all([1, 2, 3].map((n) => makeSite(pool, attacker, `unstored-${n}`)));
  const paths = { id: attacker.siteId, domain: attacker.domain };
  await fill(paths, longPaths);
  say(`${longPaths} page views with long paths are stored`);
  for (const site of unstored) await fill(site, unstoredEvents);
  say(`${unstoredEvents} events of each of three sites are stored`);
  await makeGoals(pool, attacker.siteId);
  return [
    {
      traceKey: attacker.traceKey,
      cookie: attacker.cookie,
      statisticsKeys: await makeKeys(pool, attacker),
      traces: attackerTraces,
      heavyTrace: await makeSpans(pool, attacker, {
        trace: attackerTraces[2] ?? "",
        count: 5,
        length: 4 * 1_048_576 - 2,
      }),
      pathsSite: paths.id,
      unstoredSites: unstored.map(({ id }) => id),
    },
    {
      traceKey: victim.traceKey,
      cookie: victim.cookie,
      siteId: victim.siteId,
      traces: victimTraces.slice(1),
      statisticsKeys: await makeKeys(pool, victim),
      readTrace: await makeSpans(pool, victim, { trace: victimTraces[0] ?? "", count: 50, length: 400 }),
    },
  ];
}

async function makeKeys(pool: pg.Pool, { accountId }: Tenant): Promise<string[]> {
  const keys: string[] = [];
  for (let n = 0; n < keysOfStatistics; n++) {
    keys.push(
      (await withTransaction(pool, (client) => issueKey(client, { accountId, service: "analytics", name: "bench" })))
        .key,
    );
  }
  return keys;
}

async function makeSite(pool: pg.Pool, { accountId }: Tenant, name: string) {
  const { site } = await createSite(pool, { accountId, domain: `${name}.example.com`, name });
  return site;
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

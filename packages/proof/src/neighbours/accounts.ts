import { createSite } from "@waymark/accounts";
import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { fillSite } from "../fuzz/plan-costly.js";
import type { Stage } from "../system/stage.js";
import { createTenant, makeStatisticsKeys, type Tenant } from "../system/tenant.js";
import type { Target } from "./attacks.js";
import type { Victim } from "./victim.js";

const longPaths = 6_048;
const unstoredEvents = 34_560;
const keysOfStatistics = 60;

interface AccountOptions {
  /** Whether statistics are asked for. The attacker's page views take the collector minutes. */
  withPageViews: boolean;
  say(line: string): void;
}

/** Makes an attacker and a victim, and sends the attacker's page views through the collector. */
export async function makeAccounts(
  stage: Stage,
  { withPageViews, say }: AccountOptions,
): Promise<{ target: Omit<Target, "port">; victim: Victim }> {
  const { pool } = stage;
  const collector = await stage.start("collector");
  const fill = async (site: Pick<Tenant, "domain">, count: number) => {
    if (withPageViews) await fillSite(`http://127.0.0.1:${collector.port}`, site, count);
  };
  const [attacker, victim] = [await createTenant(stage, "attacker"), await createTenant(stage, "victim")];
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
  await collector.app.stop();
  await makeGoals(pool, attacker.siteId);
  const heavy = { trace: attackerTraces[2] ?? "", count: 5, length: 4 * 1_048_576 - 2 };
  const small = { trace: victimTraces[0] ?? "", count: 50, length: 400 };
  return {
    target: {
      ...attacker,
      statisticsKeys: await makeStatisticsKeys(pool, attacker.accountId, keysOfStatistics),
      traces: attackerTraces,
      heavyTrace: await makeSpans(pool, attacker, heavy),
      pathsSite: attacker.siteId,
      unstoredSites,
    },
    victim: {
      ...victim,
      traces: victimTraces.slice(1),
      statisticsKeys: await makeStatisticsKeys(pool, victim.accountId, keysOfStatistics),
      readTrace: await makeSpans(pool, victim, small),
    },
  };
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

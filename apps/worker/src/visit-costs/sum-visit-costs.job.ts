import { withTransaction } from "@waymark/database";
import { settleCalls } from "@waymark/traces";
import { visitKeys } from "@waymark/web-stats/analytics";
import { storeCosts, sumCosts } from "@waymark/web-stats/statistics";
import type pg from "pg";
import type { JobDeps } from "../job-deps.js";
import { claimDay, findSalt, findSitesToSum, hasRuns } from "./days-to-sum.query.js";
import { readRuns } from "./read-runs.query.js";

const hourMs = 3_600_000;

/** Runs that began on a day may end, and their calls come, so long after it. */
const afterMs = 2 * hourMs;

/**
 * Sums what yesterday's visits cost, once for each site whose owner wants it, while the day's salt lives; a day that no worker
 * summed has no figures. A failed site is logged, and the others go on.
 */
export function createSumVisitCosts({ pool, log, now, isStopping }: JobDeps): () => Promise<void> {
  return async () => {
    const day = new Date(now().getTime() - 24 * hourMs - afterMs).toISOString().slice(0, 10);
    for (const site of await findSitesToSum(pool, day)) {
      if (isStopping()) return;
      try {
        const groups = await sumDay(pool, { ...site, day, now: now() });
        if (groups > 0) log.info({ siteId: site.siteId, day, groups }, "costs of visits summed");
      } catch (err) {
        if (isLostRace(err)) continue;
        log.error({ err, siteId: site.siteId, day }, "the costs of visits are not summed; the next round tries again");
      }
    }
  };
}

/** Another transaction has changed the site (SQLSTATE 40001): mostly a worker that summed the day. */
function isLostRace(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "40001";
}

interface SiteToSum {
  accountId: string;
  siteId: string;
  day: string;
  now: Date;
}

async function sumDay(pool: pg.Pool, { now, ...site }: SiteToSum): Promise<number> {
  const salt = (await hasRuns(pool, site.accountId)) ? await findSalt(pool, site.day, now) : undefined;
  if (salt) await settleCalls(pool, site.accountId);
  return withTransaction(pool, async (client) => {
    await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    const runs = salt ? await readRuns(client, { ...site, keys: visitKeys(salt) }) : [];
    const sums = await sumCosts(client, site, runs);
    // Of two workers one claims the day; late, since changes of the site wait for it.
    if (!(await claimDay(client, site))) return 0;
    await storeCosts(client, site, sums);
    return sums.length;
  });
}

import { eraseDeletedSites, eraseOrphans } from "@waymark/accounts";
import { uuidV7Floor } from "@waymark/database";
import { isPlanId, planIds, planOf } from "@waymark/plan";
import { purgeSalts } from "@waymark/web-stats/analytics";
import type { JobDeps } from "../job-deps.js";
import {
  agedNames,
  dropSpanWeeks,
  ensureSpanWeeks,
  type ListedAccount,
  listAccounts,
  nothingPurged,
  type Purged,
  purgeAccount,
  purgeAged,
  purgeRateLimits,
  readFirstWeek,
} from "./purge.query.js";

const dayMs = 24 * 3_600_000;
const entriesMs = 365 * dayMs;
const visitsMs = 2 * dayMs;
/** 13 months. */
const sumsMs = 397 * dayMs;
const endedKeysMs = 90 * dayMs;

const longestRetentionDays = Math.max(...planIds.map((id) => planOf(id).retentionDays));

/** Visits of an account in one round at most, so 1,000,000 rows of a table and 5,000,000 spans; the next round continues. */
const maxVisits = 50;

/** Past its retention (trace contract, "Limits"), and of deleted owners. A failed part is logged; others go on. */
export function createPurgeExpired(deps: JobDeps): () => Promise<Purged> {
  const { pool, log, now, isStopping } = deps;
  return async () => {
    const total = nothingPurged();
    const counts: Record<string, number> = {};
    const attempt = async (part: string, work: () => Promise<number>) => {
      try {
        counts[part] = await work();
      } catch (err) {
        log.error({ err, part }, "a part of the retention failed; the others went on, and the next round tries again");
      }
    };
    await attempt("salts", () => purgeSalts(pool, now()));
    for (const name of agedNames) await attempt(name, () => purgeAged(pool, name, { now: now(), isStopping }));
    await attempt("rateLimits", () => purgeRateLimits(pool, now()));
    await attempt("spanWeeks", () => keepSpanWeeks(deps));
    await attempt("failedAccounts", () => purgeAccounts(deps, total));
    await attempt("deletedSites", async () => sumOf(await eraseDeletedSites(pool, { isStopping })));
    await attempt("orphans", async () => sumOf(await eraseOrphans(pool, { isStopping })));
    if (sumOf(total) + (counts["deletedSites"] ?? 0) + (counts["orphans"] ?? 0) > 0)
      log.info({ ...total, ...counts }, "data past its retention removed");
    return total;
  };
}

async function keepSpanWeeks({ pool, log, now }: JobDeps): Promise<number> {
  const [today, oldest] = [now(), new Date(now().getTime() - longestRetentionDays * dayMs)];
  await ensureSpanWeeks(pool, dayOf(today), dayOf(oldest));
  const weeks = await dropSpanWeeks(pool, uuidV7Floor(oldest.getTime()));
  if (weeks.length > 0) log.info({ weeks }, "weeks of spans past every plan's retention dropped");
  return weeks.length;
}

/** Purges all accounts in turns, so none waits for another's backlog; returns the number of failed accounts. */
async function purgeAccounts({ pool, log, now, isStopping }: JobDeps, total: Purged): Promise<number> {
  const failed = new Set<string>();
  const firstWeek = await readFirstWeek(pool);
  const visit = async ({ id, plan }: ListedAccount): Promise<boolean> => {
    if (!isPlanId(plan)) return true;
    const ago = (ms: number) => now().getTime() - ms;
    const { retentionDays } = planOf(plan);
    const traceId = uuidV7Floor(ago(retentionDays * dayMs));
    // Of the longest retention, weeks go whole, and a week's first spans wait for its last.
    const areDropped = retentionDays === longestRetentionDays && firstWeek !== undefined && firstWeek < traceId;
    const bounds = {
      traceId,
      visitTraceId: uuidV7Floor(ago(visitsMs)),
      spanTraceId: areDropped ? firstWeek : traceId,
      entryId: uuidV7Floor(ago(entriesMs)),
      summedBefore: new Date(ago(sumsMs)),
      endedBefore: new Date(ago(endedKeysMs)),
      // A failure's time may be a day old when a trace gets it.
      seenBefore: new Date(ago((retentionDays + 2) * dayMs)),
    };
    try {
      return await purgeAccount(pool, { accountId: id, isStopping, ...bounds }, total);
    } catch (err) {
      failed.add(id);
      log.error(
        { err, accountId: id },
        "retention of an account failed; the others went on, and the next round tries again",
      );
      return true;
    }
  };
  let left: ListedAccount[] = [];
  for await (const account of listAccounts(pool)) {
    if (isStopping()) return failed.size;
    if (!(await visit(account))) left.push(account);
  }
  for (let n = 1; n < maxVisits && left.length > 0 && !isStopping(); n++) {
    const unfinished: ListedAccount[] = [];
    for (const account of left) if (!(await visit(account))) unfinished.push(account);
    left = unfinished;
  }
  return failed.size;
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function sumOf(rows: Readonly<Record<string, number>>): number {
  return Object.values(rows).reduce((sum, n) => sum + n, 0);
}

import type { Queryable } from "@waymark/database";
import { utcMonth } from "@waymark/plan";
import { getUsage, type Instrumentation, type KeepMode, type Kept, setKeep } from "@waymark/traces";
import type pg from "pg";
import { type Account, findPlan, unknownAccount } from "./accounts.js";

/** Sets which traces of OpenTelemetry an account keeps. @throws AccountError `unknown_account` */
export async function changeKeep(
  database: Queryable,
  id: string,
  keep: KeepMode,
  leaveOut?: readonly Instrumentation[],
): Promise<Account & Kept> {
  const account = await findPlan(database, id);
  const kept = await setKeep(database, id, { keep, leave_out: leaveOut });
  if (!kept) throw unknownAccount(id);
  return { ...account, ...kept };
}

/** An account's use of its plan in the UTC month of `now`, as `GET /usage` of the trace API. @throws AccountError `unknown_account` */
export async function readPlanUsage(pool: pg.Pool, accountId: string, now: Date) {
  const { plan } = await findPlan(pool, accountId);
  return getUsage(pool, { accountId, plan, month: utcMonth(now) });
}

export type Usage = Awaited<ReturnType<typeof readUsage>>;

export async function readUsage(pool: pg.Pool, accountId: string, now: Date) {
  const { email } = await findPlan(pool, accountId);
  const { plan, month, traces, bytes, agents } = await readPlanUsage(pool, accountId, now);
  const short = <Limit>({ current, limit }: { current: number; limit: Limit }) => ({ current, limit });
  return {
    account_id: accountId,
    email,
    plan,
    month,
    traces: short(traces),
    bytes: short(bytes),
    agents: short(agents),
    resets_at: traces.resets_at,
    resets_in_seconds: utcMonth(now).secondsLeft,
  };
}

/** Enough for a warning; counting millions would take a minute. */
const maxCountedTraces = 10_000;

/** Ranges of `site_account_id_idx`, `api_key_account_id_idx`, each site's goals and funnels and, up to a bound, `trace_pkey`. */
const countOwnedSql = `
  SELECT (SELECT count(*)::int FROM site WHERE account_id = $1) AS sites,
    (SELECT count(*)::int FROM api_key WHERE account_id = $1) AS keys,
    (SELECT count(*)::int FROM goal WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS funnels,
    (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 LIMIT $2 + 1) AS counted) AS traces`;

const countOwnedBySiteSql = `
  SELECT (SELECT count(*)::int FROM goal WHERE site_id = $1) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id = $1) AS funnels`;

export type OwnedBySite = Awaited<ReturnType<typeof countOwnedBySite>>;
export type Owned = Awaited<ReturnType<typeof countOwned>>;

/** Counts what an account has, to warn before an erasure; at most 10,000 traces. */
export async function countOwned(pool: pg.Pool, accountId: string) {
  type Counts = Record<"sites" | "keys" | "goals" | "funnels" | "traces", number>;
  const { rows } = await pool.query<Counts>(countOwnedSql, [accountId, maxCountedTraces]);
  const { traces = 0, sites = 0, keys = 0, goals = 0, funnels = 0 } = rows[0] ?? {};
  const counted = { traces: Math.min(traces, maxCountedTraces), hasMoreTraces: traces > maxCountedTraces };
  return { sites, keys, goals, funnels, ...counted };
}

export async function countOwnedBySite(pool: pg.Pool, siteId: string) {
  const { rows } = await pool.query<Record<"goals" | "funnels", number>>(countOwnedBySiteSql, [siteId]);
  return rows[0] ?? { goals: 0, funnels: 0 };
}

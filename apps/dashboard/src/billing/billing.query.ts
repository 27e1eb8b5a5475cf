import { isLiveKeySql } from "@waymark/accounts";
import { uuidV7Floor } from "@waymark/database";
import { type PlanId, plans } from "@waymark/plan";
import type { KeepMode } from "@waymark/traces";
import type pg from "pg";

type Db = Pick<pg.ClientBase, "query">;

export interface BillingRow {
  id: string;
  email: string;
  plan: PlanId;
  keep: KeepMode;
  leaveOut: string[];
  customerId: string | null;
  subscriptionId: string | null;
}

const columns =
  'id, email, plan, keep, leave_out AS "leaveOut", stripe_customer_id AS "customerId", stripe_subscription_id AS "subscriptionId"';

/** A probe of `account_pkey`. */
const byAccountSql = `SELECT ${columns} FROM account WHERE id = $1`;

/** A probe of `account_stripe_customer_id_key`. */
const byCustomerSql = `SELECT ${columns} FROM account WHERE stripe_customer_id = $1`;

export async function readBilling(db: Db, accountId: string): Promise<BillingRow | undefined> {
  return (await db.query<BillingRow>(byAccountSql, [accountId])).rows[0];
}

export async function findCustomer(db: Db, customerId: string): Promise<BillingRow | undefined> {
  return (await db.query<BillingRow>(byCustomerSql, [customerId])).rows[0];
}

/** A probe of `account_pkey`. The first customer stays: requests at the same time get the one that was stored. */
const keepCustomerSql = `
  UPDATE account SET stripe_customer_id = COALESCE(stripe_customer_id, $2) WHERE id = $1
  RETURNING stripe_customer_id AS "customerId"`;

export async function keepCustomer(db: Db, accountId: string, customerId: string): Promise<string> {
  const { rows } = await db.query<{ customerId: string }>(keepCustomerSql, [accountId, customerId]);
  return rows[0]?.customerId ?? customerId;
}

const setSubscriptionSql = "UPDATE account SET stripe_subscription_id = $2 WHERE id = $1";

export async function setSubscription(db: Db, accountId: string, subscriptionId: string | null): Promise<void> {
  await db.query(setSubscriptionSql, [accountId, subscriptionId]);
}

/** Waits for the same event under way elsewhere: its end decides whether this one is a repeat. */
const addEventSql = "INSERT INTO stripe_event (id) VALUES ($1) ON CONFLICT DO NOTHING";

export async function addStripeEvent(db: Db, id: string): Promise<boolean> {
  return (await db.query(addEventSql, [id])).rowCount === 1;
}

/** Events of a customer are handled one after the other, up to the end of the transaction. */
export async function lockCustomer(db: Db, customerId: string): Promise<void> {
  await db.query("SET LOCAL lock_timeout = '8s'");
  await db.query("SELECT pg_advisory_xact_lock(hashtextextended('stripe customer ' || $1, 0))", [customerId]);
}

export interface OnFree {
  /** Stored traces older than Free's retention; at most 10,000. */
  oldTraces: number;
  hasMoreOldTraces: boolean;
  statisticsKeys: number;
}

const maxCountedTraces = 10_000;
const dayMs = 86_400_000;

/** A range of `trace_pkey` up to a bound, since ids begin with their time, and one of `api_key_account_id_idx`. */
const onFreeSql = `
  SELECT (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 AND id < $2 LIMIT $3 + 1) AS old)
      AS "oldTraces",
    (SELECT count(*)::int FROM api_key WHERE account_id = $1 AND service <> 'trace' AND ${isLiveKeySql})
      AS "statisticsKeys"`;

export async function readOnFree(pool: pg.Pool, accountId: string, now: Date): Promise<OnFree> {
  const oldest = uuidV7Floor(now.getTime() - plans.free.retentionDays * dayMs);
  const { rows } = await pool.query<Omit<OnFree, "hasMoreOldTraces">>(onFreeSql, [accountId, oldest, maxCountedTraces]);
  const { oldTraces = 0, statisticsKeys = 0 } = rows[0] ?? {};
  const hasMoreOldTraces = oldTraces > maxCountedTraces;
  return { oldTraces: Math.min(oldTraces, maxCountedTraces), hasMoreOldTraces, statisticsKeys };
}

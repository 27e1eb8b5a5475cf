import { setTimeout as wait } from "node:timers/promises";
import { deliveryIdOf } from "@waymark/alerts";
import type pg from "pg";
import type { Receiver } from "../system/receiver.js";
import type { System } from "../system/start-system.js";
import type { Tenant } from "./tenant.js";

/** What a comparison of a ledger with the stored rows found; each finding is a sentence. */
export interface Findings {
  readonly lost: string[];
  readonly doubled: string[];
}

interface TraceRow {
  name: string;
  status: string;
  /** JSON: how often each name of a span is stored. */
  spans: string | null;
  alerts: number;
}

// Reads along the primary keys of one account; runs once after a fault.
const tracesSql = `SELECT name, status,
    (SELECT json_object_agg(s.name, s.n) FROM (SELECT name, count(*) AS n FROM span
      WHERE account_id = t.account_id AND trace_id = t.id GROUP BY name) s) AS spans,
    (SELECT count(*)::int FROM alert WHERE account_id = t.account_id AND trace_id = t.id) AS alerts
  FROM trace t WHERE account_id = $1`;

/** Compares every write of a tenant with the rows, and its counters with them. */
export async function auditRows(pool: pg.Pool, tenant: Tenant): Promise<Findings> {
  const findings: Findings = { lost: [], doubled: [] };
  await auditTraces(pool, tenant, findings);
  await auditEvents(pool, tenant, findings);
  await auditCounters(pool, tenant, findings);
  return findings;
}

async function auditTraces(pool: pg.Pool, { accountId, ledger }: Tenant, { lost, doubled }: Findings): Promise<void> {
  const { rows } = await pool.query<TraceRow>(tracesSql, [accountId]);
  const byName = new Map<string, TraceRow>();
  for (const row of rows) {
    if (byName.has(row.name)) doubled.push(`${row.name} is stored twice`);
    if (!ledger.traces.has(row.name)) doubled.push(`${row.name} is stored, and nobody sent it`);
    byName.set(row.name, row);
  }
  for (const [name, entry] of ledger.traces) {
    const row = byName.get(name);
    if (!row) {
      if (entry.isAcknowledged) lost.push(`${name} was acknowledged and is not stored`);
      continue;
    }
    const spans: Record<string, number> = JSON.parse(row.spans ?? "{}");
    for (const span of entry.spans) if (!spans[span]) lost.push(`the span ${span} of ${name} is not stored`);
    for (const [span, times] of Object.entries(spans)) {
      if (times > 1) doubled.push(`the span ${span} of ${name} is stored ${times} times`);
    }
    if (entry.status && row.status !== entry.status)
      lost.push(`${name} is ${row.status}, acknowledged ${entry.status}`);
    if (entry.status === "error" && row.alerts === 0) lost.push(`${name} failed without an alert`);
    if (row.alerts > (entry.hasFailed ? 1 : 0)) doubled.push(`${name} has ${row.alerts} alerts`);
  }
}

async function auditEvents(pool: pg.Pool, { siteId, ledger }: Tenant, { lost, doubled }: Findings): Promise<void> {
  const { rows } = await pool.query<{ path: string; n: number }>(
    "SELECT path, count(*)::int AS n FROM event WHERE site_id = $1 GROUP BY path",
    [siteId],
  );
  const stored = new Map(rows.map(({ path, n }) => [path, n]));
  for (const [path, { sent, acknowledged }] of ledger.events) {
    const times = stored.get(path) ?? 0;
    const finding = `events of ${path}: ${sent} sent, ${acknowledged} acknowledged, ${times} stored`;
    if (times < acknowledged) lost.push(finding);
    if (times > sent) doubled.push(finding);
  }
}

/** Each row is a counter, and the number of rows that it stands for. */
const countersSql = `
  SELECT 'trace_usage' AS name, (SELECT coalesce(sum(traces), 0)::int FROM trace_usage WHERE account_id = $1) AS counted,
    (SELECT count(*)::int FROM trace WHERE account_id = $1) AS stored
  UNION ALL SELECT 'page views of ' || dimension, sum(pageviews)::int, (SELECT count(*)::int FROM event WHERE site_id = $2)
    FROM daily_stat WHERE site_id = $2 AND dimension IN ('total', 'hour', 'page') GROUP BY dimension
  UNION ALL SELECT 'visitors', (SELECT coalesce(sum(visitors), 0)::int FROM daily_stat WHERE site_id = $2 AND dimension = 'total'),
    (SELECT count(*)::int FROM (SELECT DISTINCT (at AT TIME ZONE 'UTC')::date, visitor FROM event WHERE site_id = $2) v)
  UNION ALL SELECT 'page views of visits', (SELECT coalesce(sum(views), 0)::int FROM visit WHERE site_id = $2),
    (SELECT count(*)::int FROM event WHERE site_id = $2)`;

async function auditCounters(pool: pg.Pool, { accountId, siteId }: Tenant, { lost, doubled }: Findings): Promise<void> {
  const { rows } = await pool.query<{ name: string; counted: number; stored: number }>(countersSql, [
    accountId,
    siteId,
  ]);
  for (const { name, counted, stored } of rows) {
    const finding = `${name} counts ${counted}, and ${stored} are stored`;
    if (counted < stored) lost.push(finding);
    if (counted > stored) doubled.push(finding);
  }
}

/** Mails and webhooks of tenants that wait. */
async function countPending(pool: pg.Pool, tenants: readonly Tenant[]): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT (SELECT count(*) FROM alert WHERE account_id = ANY($1) AND sent_at IS NULL AND failed_at IS NULL)::int
      + (SELECT count(*) FROM delivery WHERE account_id = ANY($1) AND sent_at IS NULL AND failed_at IS NULL)::int AS n`,
    [tenants.map(({ accountId }) => accountId)],
  );
  return rows[0]?.n ?? 0;
}

/**
 * Compares the tenants' alerts with the receiver: one mail and one webhook of each, by their ids.
 * @returns what it did not accept of each tenant, and what it accepted twice or without an alert
 */
export async function auditMessages(
  pool: pg.Pool,
  tenants: readonly Tenant[],
  { accepted }: Pick<Receiver, "accepted">,
) {
  const known = new Set<string>();
  const lost: string[][] = [];
  for (const tenant of tenants) {
    const { rows } = await pool.query<{ id: string }>("SELECT id FROM alert WHERE account_id = $1", [tenant.accountId]);
    const ids = rows.flatMap(({ id }) => [
      { kind: "mail", id, key: id },
      { kind: "webhook", id, key: deliveryIdOf({ ...tenant, eventId: id }) },
    ]);
    for (const { key } of ids) known.add(key);
    const missing = ids.filter(({ key }) => !accepted.has(key));
    lost.push(missing.map(({ kind, id }) => `the ${kind} of alert ${id} was not accepted`));
  }
  const strays = [...accepted].flatMap(([id, times]) => {
    if (id === "") return [`${times} messages were accepted without an id`];
    if (!known.has(id)) return [`a message was accepted with the id ${id} of no alert`];
    return times > 1 ? [`a message with the id ${id} was accepted ${times} times`] : [];
  });
  return { lost, strays };
}

/** Mails and webhooks are tried again after half a minute at most, and twice as long after each failure. */
const drainMs = 420_000;

/**
 * Waits for the last mails and webhooks, and compares all writes of tenants with the rows and the messages.
 * @returns the findings of each tenant, and messages of none
 */
export async function auditAll({ pool, receiver }: Pick<System, "pool" | "receiver">, tenants: readonly Tenant[]) {
  for (const until = Date.now() + drainMs; Date.now() < until && (await countPending(pool, tenants)) > 0; ) {
    await wait(500);
  }
  const { lost, strays } = await auditMessages(pool, tenants, receiver);
  const findings: Findings[] = [];
  for (const [index, tenant] of tenants.entries()) {
    const found = await auditRows(pool, tenant);
    findings.push({ ...found, lost: [...found.lost, ...(lost[index] ?? [])] });
  }
  return { findings, strays };
}

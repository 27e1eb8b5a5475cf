import type { AlertKey } from "@waymark/alerts";
import { createUuidV7, uuidV7Floor } from "@waymark/database";
import type pg from "pg";
import { type Logger, pino } from "pino";

const uuid = createUuidV7();
const untilMs = 200_000;

/** An account with a failed trace and its pending alert. */
export interface FailedTrace extends AlertKey {
  email: string;
  traceId: string;
}

/** A test's choices for a failed trace. */
export interface TraceSettings {
  plan?: "free" | "pro";
  name?: string;
  error?: string | null;
  /** Seconds since the alert came to be. */
  ageSeconds?: number;
  hasSpan?: boolean;
}

export async function makeFailedTrace(pool: pg.Pool, settings: TraceSettings = {}): Promise<FailedTrace> {
  const {
    plan = "pro",
    name = "answer a ticket",
    error = "connection refused",
    ageSeconds = 0,
    hasSpan = true,
  } = settings;
  const accountId = uuid();
  const traceId = uuid();
  const alertId = uuid();
  const email = `${accountId}@example.com`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [accountId, email, plan]);
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, alert_id)
     VALUES ($1, $2, 'support-bot', $3, 'error', '2026-01-02T03:04:05Z', '2026-01-02T03:05:28Z', $4)`,
    [accountId, traceId, name, alertId],
  );
  if (hasSpan) {
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error) VALUES
       ($1, $2, $3, 'read', 'ok', '2026-01-02T03:04:05Z', NULL),
       ($1, $2, $4, 'later failure', 'error', '2026-01-02T03:04:08Z', 'second'),
       ($1, $2, $5, 'call the model', 'error', '2026-01-02T03:04:06Z', $6)`,
      [accountId, traceId, uuid(), uuid(), uuid(), error],
    );
  }
  await pool.query(
    `INSERT INTO alert (account_id, id, trace_id, status, created_at)
     VALUES ($1, $2, $3, 'error', now() - make_interval(secs => $4))`,
    [accountId, alertId, traceId, ageSeconds],
  );
  return { accountId, alertId, traceId, email };
}

/** Further failed traces of an account, or further failures of one of its traces, each with a due alert. */
export async function makeMoreAlerts(
  pool: pg.Pool,
  {
    accountId,
    count,
    traceId,
    agentId = "support-bot",
  }: { accountId: string; count: number; traceId?: string; agentId?: string },
): Promise<AlertKey[]> {
  const alertIds = Array.from({ length: count }, uuid);
  const traceIds = alertIds.map(() => traceId ?? uuid());
  if (!traceId) {
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, id, $3, 'trace ' || n, 'error', now() FROM unnest($2::uuid[]) WITH ORDINALITY AS t (id, n)`,
      [accountId, traceIds, agentId],
    );
  }
  await pool.query(
    `INSERT INTO alert (account_id, id, trace_id, status)
     SELECT $1, id, trace_id, 'error' FROM unnest($2::uuid[], $3::uuid[]) AS a (id, trace_id)`,
    [accountId, alertIds, traceIds],
  );
  return alertIds.map((alertId) => ({ accountId, alertId }));
}

/** A test's choices for a trace that nobody finished. */
export interface RunningTrace {
  plan?: "free" | "pro";
  /** Seconds since the trace's row was written. */
  quietSeconds: number;
  /** The same for each of its spans, in the order of their ids. */
  spansQuietSeconds?: readonly number[];
  status?: string;
  /** Null where the client gave no end. */
  endedAt?: string | null;
}

/** An account with a running trace, its rows as old as the test says. */
export async function makeRunningTrace(pool: pg.Pool, trace: RunningTrace) {
  const [accountId, traceId] = [uuid(), uuid()];
  const email = `${accountId}@example.com`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [
    accountId,
    email,
    trace.plan ?? "pro",
  ]);
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, written_at)
     VALUES ($1, $2, 'support-bot', 'a silent trace', $3, '2026-01-02T03:04:05Z', $4, now() - make_interval(secs => $5))`,
    [accountId, traceId, trace.status ?? "running", trace.endedAt ?? null, trace.quietSeconds],
  );
  for (const seconds of trace.spansQuietSeconds ?? []) {
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, written_at)
       VALUES ($1, $2, $3, 'a step', 'ok', '2026-01-02T03:04:06Z', now() - make_interval(secs => $4))`,
      [accountId, traceId, uuid(), seconds],
    );
  }
  return { accountId, traceId, email };
}

/** A trace of a given age with one span and a settled alert, as retention finds it. */
export async function makeOldTrace(pool: pg.Pool, { accountId, ageMs }: { accountId: string; ageMs: number }) {
  const suffix = uuid().slice(-12);
  const id = `${uuidV7Floor(Date.now() - ageMs).slice(0, -12)}${suffix}`;
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at) VALUES ($1, $2, 'a', 'n', 'error', now())`,
    [accountId, id],
  );
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 's', 'ok', now())`,
    [accountId, id, uuid()],
  );
  await pool.query(
    `INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $2, 'error', now())`,
    [accountId, id],
  );
  return id;
}

export interface AlertState {
  attempts: number;
  last_error: string | null;
  isSent: boolean;
  hasFailed: boolean;
}

export async function readAlert(pool: pg.Pool, { alertId }: { alertId: string }): Promise<AlertState | undefined> {
  const { rows } = await pool.query<AlertState>(
    `SELECT attempts, last_error, sent_at IS NOT NULL AS "isSent", failed_at IS NOT NULL AS "hasFailed" FROM alert WHERE id = $1`,
    [alertId],
  );
  return rows[0];
}

/** A log with lines for a test to look at. */
export function createTestLog(): { log: Logger; lines: { level: number; msg: string; [field: string]: unknown }[] } {
  const lines: { level: number; msg: string }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { log: pino({ level: "trace" }, { write }), lines };
}

/** Waits until a condition holds, and fails shortly before jest's limit: a wait without end would keep jest from ending. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + untilMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`This never held: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

import { createUuidV7 } from "@waymark/database";
import type pg from "pg";

const uuid = createUuidV7();

interface TestTrace {
  name?: string;
  agent?: string;
  status?: "running" | "success" | "error" | "timeout";
  /** Seconds before now. */
  ago?: number;
  startedAt?: string;
  seconds?: number;
  /** Makes a failed span. */
  error?: string;
  isMailed?: boolean;
  session?: string;
  user?: string;
  environment?: string;
  release?: string;
  tags?: readonly string[];
  /** Makes a span with them. */
  input?: string;
  output?: string;
}

/** Inserts a trace as the trace API stores it. */
export async function insertTrace(pool: pg.Pool, accountId: string, trace: TestTrace = {}): Promise<string> {
  const {
    name = "a trace",
    agent = "writer",
    status = "success",
    ago = 0,
    startedAt,
    seconds = 1,
    error,
    isMailed,
    input,
    output,
  } = trace;
  const id = uuid();
  await pool.query("INSERT INTO agent (account_id, id) VALUES ($1, $2) ON CONFLICT DO NOTHING", [accountId, agent]);
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at,
       session_id, user_id, environment, release, tags)
     SELECT $1, $2, $3, $4, $5, s, CASE WHEN $5 <> 'running' THEN s + $7 * interval '1 s' END, $9, $10, $11, $12, $13
     FROM (SELECT COALESCE($8, now() - $6 * interval '1 s') AS s) AS start`,
    [
      ...[accountId, id, agent, name, status, ago, seconds, startedAt],
      ...[trace.session, trace.user, trace.environment, trace.release, trace.tags ?? []],
    ],
  );
  if (input !== undefined || output !== undefined) {
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output)
       VALUES ($1, $2, $3, 'chat', 'ok', now(), now(), to_json($4::text), to_json($5::text))`,
      [accountId, id, uuid(), input, output],
    );
  }
  if (error !== undefined) {
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error)
       VALUES ($1, $2, $3, 'call', 'error', now(), $4)`,
      [accountId, id, uuid(), error],
    );
  }
  if (isMailed) {
    const alert = "INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $3, 'error', now())";
    await pool.query(alert, [accountId, uuid(), id]);
  }
  return id;
}

/** Fails a running trace, as `PATCH /api/v1/traces/:trace_id` does. */
export async function failTrace(pool: pg.Pool, accountId: string, id: string, error: string): Promise<void> {
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error)
     VALUES ($1, $2, $3, 'call', 'error', now(), $4)`,
    [accountId, id, uuid(), error],
  );
  const change = "UPDATE trace SET status = 'error', ended_at = now(), written_at = now() WHERE id = $1";
  await pool.query(change, [id]);
}

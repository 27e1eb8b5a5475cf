import type pg from "pg";

export const alertStates = ["pending", "held", "sent", "failed"] as const;
type AlertState = (typeof alertStates)[number];

interface AlertsToRead {
  accountId: string;
  state?: AlertState | undefined;
  /** The last id of the page before. */
  before?: string | undefined;
  limit: number;
}

export interface AlertWithTrace {
  id: string;
  status: "error" | "timeout";
  state: AlertState;
  failures: number;
  attempts: number;
  /** Why the last attempt did not send the mail. */
  reason: string | null;
  /** Whether a summary on its way lists it; it cannot be sent again by itself then. */
  isInSummary: boolean;
  createdAt: Date;
  sentAt: Date | null;
  failedAt: Date | null;
  /** When the next attempt may begin. */
  dueAt: Date;
  /** Until when a limit holds its own mail. */
  heldUntil: Date | null;
  /** `name` and `agentId` are null where the trace is deleted. */
  trace: { id: string; name: string | null; agentId: string | null };
}

interface AlertPage {
  alerts: AlertWithTrace[];
  hasMore: boolean;
}

const states: Readonly<Record<AlertState, string>> = {
  pending: "sent_at IS NULL AND failed_at IS NULL AND held_until IS NULL",
  held: "sent_at IS NULL AND failed_at IS NULL AND held_until IS NOT NULL",
  sent: "sent_at IS NOT NULL",
  failed: "sent_at IS NULL AND failed_at IS NOT NULL",
};

/** A range of `alert_pkey`, which retention bounds; each trace is a probe of `trace_pkey`. */
const readPageSql = (where: string) => `
  SELECT a.id, a.status, a.failures, a.attempts, left(a.last_error, 1000) AS reason, a.summary_id IS NOT NULL AS "isInSummary",
    a.created_at AS "createdAt", a.sent_at AS "sentAt", a.failed_at AS "failedAt", a.due_at AS "dueAt",
    a.held_until AS "heldUntil",
    CASE WHEN a.sent_at IS NOT NULL THEN 'sent' WHEN a.failed_at IS NOT NULL THEN 'failed'
      WHEN a.held_until IS NOT NULL THEN 'held' ELSE 'pending' END AS state,
    a.trace_id AS "traceId", trace.name, trace.agent_id AS "agentId"
  FROM (
    SELECT * FROM alert WHERE account_id = $1 AND id < $2 AND ${where} ORDER BY id DESC LIMIT $3
  ) AS a
  LEFT JOIN trace ON trace.account_id = $1 AND trace.id = a.trace_id
  ORDER BY a.id DESC`;

interface Row extends Omit<AlertWithTrace, "trace"> {
  traceId: string;
  name: string | null;
  agentId: string | null;
}

const greatestUuid = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Reads a page of alerts in one state, or in any. */
export async function readAlertPage(
  pool: pg.Pool,
  { accountId, state, before = greatestUuid, limit }: AlertsToRead,
): Promise<AlertPage> {
  const text = readPageSql(state === undefined ? "true" : states[state]);
  const statement = { name: `read-alert-page ${state ?? ""}`, text, values: [accountId, before, limit + 1] };
  const { rows } = await pool.query<Row>(statement);
  const alerts = rows.slice(0, limit).map(({ traceId, name, agentId, ...alert }) => {
    return { ...alert, trace: { id: traceId, name, agentId } };
  });
  return { alerts, hasMore: rows.length > limit };
}

import type { Queryable } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { type Plan, planIds, planOf } from "@waymark/plan";

/** The primary key of the table `alert`, and the payload of the job for its mail. */
export interface AlertKey {
  accountId: string;
  alertId: string;
}

const maxPendingAlertsPerTrace = 10;

/** Statuses of a failed trace (trace contract, "Events"). */
const failedStatuses: readonly (string | undefined)[] = ["error", "timeout"];

export const plansWithAlerts = planIds.filter((id) => planOf(id).alerts);

/** Whether a change to this status can bring an alert; undefined leaves the status as it is. */
export function canAlert(plan: Pick<Plan, "alerts">, status: string | undefined): boolean {
  return plan.alerts && failedStatuses.includes(status);
}

/**
 * Sets `alert_id` in an UPDATE of `trace t` by changes `c`. The same status keeps it, so a repeated change adds no alert; another
 * one replaces or clears it. `c.status` may be null to stay; `c.alert_id` is a new id if {@link canAlert}, otherwise null.
 */
export const setAlertIdSql = `alert_id = CASE
        WHEN c.status IS NULL OR (t.status = c.status AND t.alert_id IS NOT NULL) THEN t.alert_id
        ELSE c.alert_id
      END`;

/** The RETURNING list of that UPDATE for {@link insertAlertsSql}. `gets_alert`: this change set the alert's id. */
export const returnAlertIdSql =
  "t.account_id, t.id, t.status, t.alert_id, COALESCE(t.alert_id = c.alert_id, false) AS gets_alert";

/**
 * Common table expressions to insert the alerts of changed traces; `new_alerts` returns them. Beyond ten pending alerts of a
 * trace the newest counts the failure, so toggling a status cannot fill the table; if that one is locked, the failure gets its
 * own row. Reads a day's range of `alert_trace_idx` per failed trace: the worker settles alerts within hours.
 * @param changed the name of a common table expression with the columns of {@link returnAlertIdSql}
 */
export function insertAlertsSql(changed: string): string {
  return `
  full_traces AS (
    SELECT t.account_id, t.id AS trace_id, pending.newest
    FROM ${changed} t CROSS JOIN LATERAL (
      SELECT (array_agg(p.id))[1] AS newest FROM (
        SELECT a.id FROM alert a
        WHERE a.account_id = t.account_id AND a.trace_id = t.id AND a.id >= uuid_floor(now() - interval '1 day')
          AND a.sent_at IS NULL AND a.failed_at IS NULL AND a.summary_id IS NULL
        ORDER BY a.id DESC LIMIT ${maxPendingAlertsPerTrace}
      ) AS p HAVING count(*) = ${maxPendingAlertsPerTrace}
    ) AS pending
    WHERE t.gets_alert
  ), free_alerts AS (
    SELECT a.account_id, a.id FROM full_traces f
    JOIN alert a ON a.account_id = f.account_id AND a.id = f.newest
    WHERE a.sent_at IS NULL AND a.failed_at IS NULL AND a.summary_id IS NULL
    FOR NO KEY UPDATE OF a SKIP LOCKED
  ), counted AS (
    UPDATE alert a SET failures = a.failures + 1 FROM free_alerts f
    WHERE a.account_id = f.account_id AND a.id = f.id
    RETURNING a.account_id, a.trace_id
  ), new_alerts AS (
    INSERT INTO alert (account_id, id, trace_id, status)
    SELECT t.account_id, t.alert_id, t.id, t.status FROM ${changed} t
    WHERE t.gets_alert
      AND NOT EXISTS (SELECT FROM counted c WHERE c.account_id = t.account_id AND c.trace_id = t.id)
    RETURNING account_id, id
  )`;
}

/** A probe of `account_pkey`. @throws AppError 400 for an account without alerts */
export async function requirePlan(
  client: Queryable,
  accountId: string,
  what: "Channels" | "Reports" | "Rules",
): Promise<void> {
  const sql = "SELECT FROM account WHERE id = $1 AND plan = ANY ($2)";
  const { rowCount } = await client.query(sql, [accountId, plansWithAlerts]);
  if (rowCount !== 1) throw new AppError("validation_failed", { details: { reason: `${what} need the Pro plan.` } });
}

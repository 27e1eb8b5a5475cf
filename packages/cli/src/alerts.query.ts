import { findAccount } from "@waymark/accounts";
import { isUuid } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import type pg from "pg";
import { CommandError } from "./command-error.js";

/** A failure mail as it is shown. */
export interface ListedAlert {
  id: string;
  trace_id: string;
  /** The trace's status that the mail tells of: error or timeout. */
  status: string;
  state: "owed" | "held" | "sent" | "failed";
  /** How many failures of the trace it stands for. */
  failures: number;
  /** The summary that tells of it, where the limits kept its own mail back. */
  summary_id: string | null;
  attempts: number;
  last_error: string | null;
  created_at: string;
  sent_at: string | null;
  failed_at: string | null;
}

/**
 * An account's alerts, newest first.
 * @param options `failed` for those only that failed for good; `limit` at most so many
 * @throws AccountError when there is no such account
 */
export async function listAlerts(
  prisma: PrismaClient,
  accountId: string,
  options: { failed: boolean; limit: number },
): Promise<ListedAlert[]> {
  const { id } = await findAccount(prisma, accountId);
  const alerts = await prisma.alert.findMany({
    where: { accountId: id, ...(options.failed && { failedAt: { not: null } }) },
    orderBy: { id: "desc" },
    take: options.limit,
  });
  return alerts.map(present);
}

/**
 * Makes an alert owed as on its first day, so that the worker's next sweep sends it; one that was sent stays sent, and one
 * that a summary on its way tells of stays with it. The
 * primary key starts with the account, which the caller does not know: Postgres 18 skips from account to account in it,
 * older ones read the whole index, which a person can wait for.
 */
const retrySql = `
  UPDATE alert SET failed_at = NULL, attempts = 0, queued_at = NULL, due_at = now(), allowed_at = NULL, held_until = NULL,
    summary_id = NULL
  WHERE id = $1 AND sent_at IS NULL AND (failed_at IS NOT NULL OR summary_id IS NULL)`;

/**
 * Has a failed alert sent again by the worker's next sweep. An alert that is owed anyway may be retried too.
 * @throws CommandError when there is no such alert, or it was sent
 */
export async function retryAlert(pool: pg.Pool, prisma: PrismaClient, alertId: string): Promise<ListedAlert> {
  if (isUuid(alertId)) {
    await pool.query(retrySql, [alertId]);
    const alert = await prisma.alert.findFirst({ where: { id: alertId } });
    if (alert?.summaryId && alert.sentAt === null) {
      throw new CommandError(`Alert ${alertId} is told of by the summary ${alert.summaryId}, which is on its way.`);
    }
    if (alert && alert.sentAt === null) return present(alert);
    if (alert?.sentAt) throw new CommandError(`Alert ${alertId} was sent at ${alert.sentAt.toISOString()}.`);
  }
  throw new CommandError(`There is no alert '${alertId}'. 'waymark alert list --account ID' shows them.`);
}

function present(alert: {
  id: string;
  traceId: string;
  status: string;
  attempts: number;
  lastError: string | null;
  failures: number;
  heldUntil: Date | null;
  summaryId: string | null;
  createdAt: Date;
  sentAt: Date | null;
  failedAt: Date | null;
}): ListedAlert {
  return {
    id: alert.id,
    trace_id: alert.traceId,
    status: alert.status,
    state: alert.sentAt ? "sent" : alert.failedAt ? "failed" : alert.heldUntil ? "held" : "owed",
    failures: alert.failures,
    summary_id: alert.summaryId,
    attempts: alert.attempts,
    last_error: alert.lastError,
    created_at: alert.createdAt.toISOString(),
    sent_at: alert.sentAt?.toISOString() ?? null,
    failed_at: alert.failedAt?.toISOString() ?? null,
  };
}

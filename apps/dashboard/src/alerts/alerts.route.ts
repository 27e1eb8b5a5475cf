import { findPlan } from "@waymark/accounts";
import { type AlertWithTrace, alertStates, countUnsentAlerts, readAlertPage, retryAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import type pg from "pg";
import { z } from "zod";
import { viewerRoute } from "../session/viewer.js";

type Times = "createdAt" | "sentAt" | "failedAt" | "dueAt" | "heldUntil";

/** A failure mail with its trace. */
export interface ListedAlert extends Omit<AlertWithTrace, Times> {
  createdAt: string;
  sentAt: string | null;
  failedAt: string | null;
  /** When the next attempt may begin. */
  dueAt: string;
  heldUntil: string | null;
}

/** The answer of `GET /alerts`, newest first. */
export interface AlertList {
  alerts: ListedAlert[];
  /** `before` of the next page; null on the last one. */
  next: string | null;
  /** Whether the plan sends mails. */
  hasMails: boolean;
}

/** The answer of `GET /alerts/unsent`: mails that failed, and pending ones that are late. */
export interface UnsentAlerts {
  count: number;
}

/** The query of `GET /alerts`. */
const alertsQuery = z.object({
  state: z.enum(alertStates).optional(),
  before: z.uuid().optional(),
});

const pageSize = 50;

export function alertRoutes({ pool }: { pool: pg.Pool }) {
  return [
    /** Failure mails, newest first. */
    viewerRoute("get", "/alerts", {
      query: alertsQuery,
      async handle({ viewer: { accountId }, query: { state, before } }): Promise<AlertList> {
        const page = await readAlertPage(pool, { accountId, state, before, limit: pageSize });
        const { plan } = await findPlan(pool, accountId);
        return {
          alerts: page.alerts.map((alert) => ({
            ...alert,
            createdAt: alert.createdAt.toISOString(),
            sentAt: alert.sentAt?.toISOString() ?? null,
            failedAt: alert.failedAt?.toISOString() ?? null,
            dueAt: alert.dueAt.toISOString(),
            heldUntil: alert.heldUntil?.toISOString() ?? null,
          })),
          next: page.hasMore ? (page.alerts.at(-1)?.id ?? null) : null,
          hasMails: planOf(plan).alerts,
        };
      },
    }),
    /** The count beside the menu's "Alerts". */
    viewerRoute("get", "/alerts/unsent", {
      handle: async ({ viewer }): Promise<UnsentAlerts> => ({ count: await countUnsentAlerts(pool, viewer.accountId) }),
    }),
    /** Makes a failed or held mail pending; the worker sends it. */
    viewerRoute("post", "/alerts/:alert_id/retry", {
      async handle({ viewer, params }) {
        const { data: alertId } = z.uuid().safeParse(params["alert_id"]);
        const alert = alertId && (await retryAlert(pool, alertId, viewer.accountId));
        if (!alert) throw new AppError("not_found");
        return { state: alert.state };
      },
    }),
  ];
}

import { findPlan } from "@waymark/accounts";
import { readAlertPage } from "@waymark/alerts";
import { planOf } from "@waymark/plan";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { type AlertList, alertsQuery } from "./alerts.schema.js";

const pageSize = 50;

/** `GET /alerts`: failure mails, newest first. */
export function listAlertsRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/alerts",
    query: alertsQuery,
    async handle({ query: { state, before }, response }) {
      const { accountId } = viewerOf(response);
      const page = await readAlertPage(pool, { accountId, state, before, limit: pageSize });
      const { plan } = await findPlan(pool, accountId);
      const body: AlertList = {
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
      return { status: 200, body };
    },
  });
}

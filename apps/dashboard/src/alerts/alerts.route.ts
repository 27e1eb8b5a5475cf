import { findPlan } from "@waymark/accounts";
import { alertStates, countUnsentAlerts, readAlertPage, retryAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { planOf } from "@waymark/plan";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type AlertList = AnswerOf<typeof alertRoutes, "get /alerts">;
export type ListedAlert = AlertList["alerts"][number];
export type UnsentAlerts = AnswerOf<typeof alertRoutes, "get /alerts/unsent">;

const pageSize = 50;

export function alertRoutes({ pool }: AppDeps) {
  return [
    viewerRoute("get", "/alerts", {
      query: z.object({ state: z.enum(alertStates).optional(), before: z.uuid().optional() }),
      async handle({ viewer: { accountId }, query }) {
        const { alerts, hasMore } = await readAlertPage(pool, { accountId, ...query, limit: pageSize });
        const { plan } = await findPlan(pool, accountId);
        const next = hasMore ? (alerts.at(-1)?.id ?? null) : null;
        return { alerts, next, hasMails: planOf(plan).alerts };
      },
    }),
    /** The count beside the menu's "Alerts": mails that failed, and pending ones that are late. */
    viewerRoute("get", "/alerts/unsent", {
      handle: async ({ viewer }) => ({ count: await countUnsentAlerts(pool, viewer.accountId) }),
    }),
    /** Makes a failed or held mail pending; the worker sends it. */
    viewerRoute("post", "/alerts/:alert_id/retry", {
      async handle({ viewer, params }) {
        const alert = await retryAlert(pool, idOf(params["alert_id"]), viewer.accountId);
        if (!alert) throw new AppError("not_found");
        return { state: alert.state };
      },
    }),
  ];
}

import { retryAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";

/** `POST /alerts/:alert_id/retry`: makes a failed or held mail pending; the worker's next sweep sends it. */
export function retryAlertRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "post",
    path: "/alerts/:alert_id/retry",
    async handle({ params, response }) {
      const { data: alertId } = z.uuid().safeParse(params["alert_id"]);
      const alert = alertId && (await retryAlert(pool, alertId, viewerOf(response).accountId));
      if (!alert) throw new AppError("not_found");
      return { status: 200, body: { state: alert.state } };
    },
  });
}

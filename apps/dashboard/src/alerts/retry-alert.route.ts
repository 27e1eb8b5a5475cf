import { retryAlert } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";

/** `POST /alerts/:alert_id/retry`: makes a failed or held mail pending; the worker's next sweep sends it. */
export function retryAlertRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "post",
    path: "/alerts/:alert_id/retry",
    operationId: "retryAlert",
    summary: "Send a failure mail again",
    answers: { 200: { description: "The alert's state", schema: z.object({ state: z.string() }) } },
    async handle({ params, response }) {
      const { data: alertId } = z.uuid().safeParse(params["alert_id"]);
      const alert = alertId && (await retryAlert(pool, alertId, viewerOf(response).accountId));
      if (!alert) throw new AppError("not_found");
      return { status: 200, body: { state: alert.state } };
    },
  });
}

import { countUnsentAlerts } from "@waymark/alerts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import type { UnsentAlerts } from "./alerts.schema.js";

/** `GET /alerts/unsent`: the count beside the menu's "Alerts". */
export function countUnsentAlertsRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "get",
    path: "/alerts/unsent",
    operationId: "countUnsentAlerts",
    summary: "Count failure mails that did not go out",
    answers: { 200: { description: "The count", schema: z.custom<UnsentAlerts>() } },
    async handle({ response }) {
      const body: UnsentAlerts = { count: await countUnsentAlerts(pool, viewerOf(response).accountId) };
      return { status: 200, body };
    },
  });
}

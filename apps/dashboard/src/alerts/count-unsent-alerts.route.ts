import { countUnsentAlerts } from "@waymark/alerts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { UnsentAlerts } from "./alerts.schema.js";

/** `GET /alerts/unsent`: the count beside the menu's "Alerts". */
export function countUnsentAlertsRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/alerts/unsent",
    async handle({ response }) {
      const body: UnsentAlerts = { count: await countUnsentAlerts(pool, viewerOf(response).accountId) };
      return { status: 200, body };
    },
  });
}

import { findPlan } from "@waymark/accounts";
import { kindChoices, listChannels, readAlertSettings } from "@waymark/alerts";
import { planOf } from "@waymark/plan";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { ChannelList } from "./channels.schema.js";

/** `GET /channels`: where failures are told, and how. */
export function listChannelsRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/channels",
    async handle({ response }) {
      const { accountId } = viewerOf(response);
      const settings = await readAlertSettings(pool, accountId);
      const { plan } = await findPlan(pool, accountId);
      const channels = await listChannels(pool, accountId);
      const body: ChannelList = { channels, kinds: kindChoices, ...settings, hasAlerts: planOf(plan).alerts };
      return { status: 200, body };
    },
  });
}

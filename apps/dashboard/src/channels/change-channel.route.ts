import { createChannelLink } from "@waymark/accounts/identity/links";
import { alertModes, changeAlertSettings, deleteChannel, resendChannelLink, testChannel } from "@waymark/alerts";
import { withTransaction } from "@waymark/database";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { ownerOf } from "../session/viewer.js";

interface Deps {
  pool: pg.Pool;
}

const channelOf = (response: Parameters<typeof ownerOf>[0], id: string | undefined) => ({
  accountId: ownerOf(response).accountId,
  channelId: id ?? "",
});

/** `POST /channels/:channel_id/test`: the worker sends a test. */
export function testChannelRoute({ pool }: Deps) {
  return pageRoute({
    method: "post",
    path: "/channels/:channel_id/test",
    async handle({ params, response }) {
      await testChannel(pool, channelOf(response, params["channel_id"]));
      return { status: 200, body: {} };
    },
  });
}

/** `POST /channels/:channel_id/link`: mails the link that confirms a stranger's address again. */
export function resendChannelLinkRoute({ pool }: Deps) {
  return pageRoute({
    method: "post",
    path: "/channels/:channel_id/link",
    async handle({ params, response }) {
      await resendChannelLink(pool, channelOf(response, params["channel_id"]), createChannelLink);
      return { status: 200, body: {} };
    },
  });
}

/** `DELETE /channels/:channel_id`, also of the account's own address. */
export function deleteChannelRoute({ pool }: Deps) {
  return pageRoute({
    method: "delete",
    path: "/channels/:channel_id",
    async handle({ params, response }) {
      await deleteChannel(pool, channelOf(response, params["channel_id"]));
      return { status: 200, body: {} };
    },
  });
}

const alertSettingsBody = z.strictObject({ mode: z.enum(alertModes), windowSeconds: z.int().optional() });

/** `PUT /alert-settings`: each failure by itself, or digests. */
export function changeAlertSettingsRoute({ pool }: Deps) {
  return pageRoute({
    method: "put",
    path: "/alert-settings",
    body: alertSettingsBody,
    async handle({ body, response }) {
      const { accountId } = ownerOf(response);
      await withTransaction(pool, (client) => changeAlertSettings(client, accountId, body));
      return { status: 200, body: {} };
    },
  });
}

import { isIP } from "node:net";
import { createChannelLink } from "@waymark/accounts/identity/links";
import { createChannel } from "@waymark/alerts";
import { validationError } from "@waymark/errors";
import { isPublicAddress, type Networks } from "@waymark/service/fields";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import type { Config } from "../config.js";
import { ownerOf } from "../session/viewer.js";
import { type CreatedChannel, createChannelBody } from "./channels.schema.js";

/** `POST /channels`: failures from now on go there, too. */
export function createChannelRoute({ pool, config }: { pool: pg.Pool; config: Pick<Config, "webhookNetworks"> }) {
  return pageRoute({
    method: "post",
    path: "/channels",
    body: createChannelBody,
    async handle({ body, response }) {
      const { accountId } = ownerOf(response);
      if (isPrivate(body.to, config.webhookNetworks)) {
        throw validationError({ to: "Must be a public address: this one is inside a private network" });
      }
      return {
        status: 201,
        body: (await createChannel(pool, accountId, body, createChannelLink)) satisfies CreatedChannel,
      };
    },
  });
}

/** Only what the address itself says: the worker looks names up at each delivery. */
function isPrivate(address: string, allowed: Networks): boolean {
  if (!URL.canParse(address.trim())) return false;
  const host = new URL(address.trim()).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) > 0) return !isPublicAddress(host) && !allowed.has(host);
  return allowed.isEmpty && /(?:^|\.)(?:localhost|local|internal)$/.test(host);
}

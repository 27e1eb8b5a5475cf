import { createSite } from "@waymark/accounts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { answerAccountErrors } from "../account-errors.js";
import { viewerOf } from "../session/viewer.js";
import { presentSite, requireOwnSite } from "./present-site.js";
import { createSiteBody, type ListedSite } from "./sites.schema.js";

export function createSiteRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "post",
    path: "/sites",
    body: createSiteBody,
    async handle({ response, body }) {
      const { accountId } = viewerOf(response);
      const { site } = await answerAccountErrors(createSite(pool, { accountId, ...body, whenTaken: "wait" }));
      return { status: 201, body: presentSite(await requireOwnSite(pool, accountId, site.id)) satisfies ListedSite };
    },
  });
}

import { renameSite } from "@waymark/accounts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { answerAccountErrors } from "../account-errors.js";
import { viewerOf } from "../session/viewer.js";
import { presentSite, requireOwnSite } from "./present-site.js";
import { changeSiteBody, type ListedSite } from "./sites.schema.js";

export function changeSiteRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "patch",
    path: "/sites/:id",
    body: changeSiteBody,
    async handle({ response, params, body: { name } }) {
      const { accountId } = viewerOf(response);
      const siteId = params["id"] ?? "";
      await answerAccountErrors(renameSite(pool, { accountId, siteId, name }));
      return { status: 200, body: presentSite(await requireOwnSite(pool, accountId, siteId)) satisfies ListedSite };
    },
  });
}

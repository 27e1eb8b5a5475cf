import { readSites } from "@waymark/accounts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { presentSite } from "./present-site.js";
import type { SiteList } from "./sites.schema.js";

export function listSitesRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/sites",
    async handle({ response }) {
      const body: SiteList = { sites: (await readSites(pool, viewerOf(response).accountId)).map(presentSite) };
      return { status: 200, body };
    },
  });
}

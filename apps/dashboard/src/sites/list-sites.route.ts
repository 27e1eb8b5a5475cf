import { readSites } from "@waymark/accounts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { presentSite } from "./present-site.js";
import type { SiteList } from "./sites.schema.js";

export function listSitesRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "get",
    path: "/sites",
    operationId: "listSites",
    summary: "The account's sites, oldest first, with their first and last day",
    answers: { 200: { description: "Sites", schema: z.custom<SiteList>() } },
    async handle({ response }) {
      const body: SiteList = { sites: (await readSites(pool, viewerOf(response).accountId)).map(presentSite) };
      return { status: 200, body };
    },
  });
}

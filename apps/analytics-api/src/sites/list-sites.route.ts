import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import { listSites } from "@waymark/web-stats/statistics";
import type pg from "pg";
import { z } from "zod";
import { limitHeaders } from "../api.js";

const siteSchema = named("Site", z.object({ id: z.string(), domain: z.string(), name: z.string() }));

/** `GET /sites` (statistics contract, "GET /api/v1/sites"). */
export function listSitesRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "get",
    path: "/sites",
    operationId: "listSites",
    summary: "List your sites",
    lenientQuery: [],
    answers: {
      200: {
        description: "All sites of the account, oldest first; with a shared key its site alone",
        schema: z.object({ sites: z.array(siteSchema) }),
        example: { sites: [{ id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f", domain: "example.com", name: "Example" }] },
        headers: limitHeaders,
      },
    },
    async handle({ response }) {
      const { accountId, siteId } = principalOf(response);
      const all = await listSites(pool, accountId);
      const sites = siteId === undefined ? all : all.filter(({ id }) => id === siteId);
      return { status: 200, body: { sites: sites.map(({ id, domain, name }) => ({ id, domain, name })) } };
    },
  });
}

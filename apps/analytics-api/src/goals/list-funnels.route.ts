import { named, route } from "@waymark/service/http";
import { listFunnels } from "@waymark/web-stats/statistics";
import { z } from "zod";
import { limitHeaders, siteNotFound, unknownParameter } from "../api.js";
import { readOwnSite } from "../reads/read-own-site.js";
import type { GoalDeps } from "./get-goals.route.js";

const funnelsSchema = named("Funnels", z.object({ funnels: z.array(z.object({ id: z.string(), name: z.string() })) }));

/** `GET /sites/:id/funnels`, an extension of the contract. */
export function listFunnelsRoute(deps: Pick<GoalDeps, "pool" | "reads">) {
  return route({
    method: "get",
    path: "/sites/:id/funnels",
    operationId: "listFunnels",
    summary: "List a site's funnels",
    description: "Extension of the contract: the site's funnels, oldest first. `waymark funnel create` makes one.",
    params: { id: "The site's id" },
    answers: {
      200: {
        description: "The site's funnels",
        schema: funnelsSchema,
        example: { funnels: [{ id: "01981f3a-90aa-7f0c-8a42-6d1f5b7c3e10", name: "Checkout" }] },
        headers: limitHeaders,
      },
      400: unknownParameter,
      404: siteNotFound,
    },
    async handle(input) {
      const funnels = await readOwnSite(deps, input, (siteId) => listFunnels(deps.pool, siteId));
      return { status: 200, body: { funnels: funnels.map(({ id, name }) => ({ id, name })) } };
    },
  });
}

import { createSite } from "@waymark/accounts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { answerAccountErrors } from "../account-errors.js";
import { viewerOf } from "../session/viewer.js";
import { presentSite, requireOwnSite } from "./present-site.js";
import { createSiteBody, type ListedSite } from "./sites.schema.js";

export function createSiteRoute({ pool }: { pool: pg.Pool }) {
  return route({
    method: "post",
    path: "/sites",
    operationId: "createSite",
    summary: "Add a site. With a domain of another account it gets no events before a proof",
    body: createSiteBody,
    answers: { 201: { description: "The site", schema: z.custom<ListedSite>() } },
    async handle({ response, body }) {
      const { accountId } = viewerOf(response);
      const { site } = await answerAccountErrors(createSite(pool, { accountId, ...body, whenTaken: "wait" }));
      return { status: 201, body: presentSite(await requireOwnSite(pool, accountId, site.id)) };
    },
  });
}

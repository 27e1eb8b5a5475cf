import { listAudit } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { type AuditList, auditQuery } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function listAuditRoute({ pool }: PeopleDeps) {
  return route({
    method: "get",
    path: "/audit",
    operationId: "listAudit",
    summary: "What was done to the account",
    query: auditQuery,
    answers: { 200: { description: "50 entries, latest first", schema: z.custom<AuditList>() } },
    async handle({ query: { before }, response }) {
      const { accountId, role } = viewerOf(response);
      const { entries, hasMore } = await listAudit(pool, { accountId, role, before });
      const body: AuditList = {
        entries: entries.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })),
        hasMore,
      };
      return { status: 200, body };
    },
  });
}

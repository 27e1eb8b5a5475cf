import { listAudit } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { viewerOf } from "../session/viewer.js";
import { type AuditList, auditQuery } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function listAuditRoute({ pool }: PeopleDeps) {
  return pageRoute({
    method: "get",
    path: "/audit",
    query: auditQuery,
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

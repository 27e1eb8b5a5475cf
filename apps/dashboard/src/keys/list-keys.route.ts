import { readLiveKeys } from "@waymark/accounts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { KeyList } from "./keys.schema.js";

export function listKeysRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/keys",
    async handle({ response }) {
      const keys = await readLiveKeys(pool, viewerOf(response).accountId);
      const body: KeyList = {
        keys: keys.map(({ id, service, name, hint, createdBy, createdAt, lastUsedAt, share }) => ({
          id,
          service,
          name,
          hint,
          createdBy,
          createdAt: createdAt.toISOString(),
          lastUsedAt: lastUsedAt?.toISOString() ?? null,
          ...(share && { share: { ...share, expiresAt: share.expiresAt?.toISOString() ?? null } }),
        })),
      };
      return { status: 200, body };
    },
  });
}

import { listSessions } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { describeClient } from "./describe-client.js";
import type { SessionList } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function listSessionsRoute({ pool, now }: SettingsDeps) {
  return pageRoute({
    method: "get",
    path: "/me/sessions",
    async handle({ response }) {
      const { personId, sessionId } = viewerOf(response);
      const rows = await listSessions(pool, personId, now());
      const sessions = rows.map(({ id, client, createdAt, seenAt }) => ({
        id,
        client: describeClient(client ?? ""),
        createdAt: createdAt.toISOString(),
        seenAt: seenAt.toISOString(),
        isCurrent: id === sessionId,
      }));
      return { status: 200, body: { sessions } satisfies SessionList };
    },
  });
}

import { listSessions } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { z } from "zod";
import { describeClient } from "./describe-client.js";
import type { SessionList } from "./session.schema.js";
import type { SettingsDeps } from "./settings-deps.js";
import { viewerOf } from "./viewer.js";

export function listSessionsRoute({ pool, now }: SettingsDeps) {
  return route({
    method: "get",
    path: "/me/sessions",
    operationId: "listSessions",
    summary: "The own sessions",
    answers: { 200: { description: "Sessions, latest first", schema: z.custom<SessionList>() } },
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

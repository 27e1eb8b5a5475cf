import { AppError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import {
  fewWaiting,
  listSessions,
  listUsers,
  oldestCursor,
  oneByOne,
  readNotes,
  readSession,
  sessionQuerySchema,
  sessionTracesQuerySchema,
  sumsToList,
  userQuerySchema,
} from "@waymark/traces";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "../traces/share-statements.js";
import { firstDay } from "./first-day.js";

export type SessionList = AnswerOf<typeof sessionRoutes, "get /sessions">;
export type Conversation = AnswerOf<typeof sessionRoutes, "get /sessions/:session_id">;
export type UserList = AnswerOf<typeof sessionRoutes, "get /users">;

export function sessionRoutes({ pool, registry, now }: AppDeps) {
  const deps = { pool, createGroupCommit: shareStatements(registry) };
  const list = oneByOne(deps, "list-sessions", listSessions, fewWaiting);
  const listOfUsers = oneByOne(deps, "list-users", listUsers, fewWaiting);
  const read = oneByOne(deps, "read-session", readSession, fewWaiting);
  return [
    viewerRoute("get", "/sessions", {
      query: sessionQuerySchema,
      handle: ({ viewer, query }) => list(sumsToList(viewer.accountId, { from: firstDay(now()), ...query })),
    }),
    /** An id is free text, percent-encoded in the path. Failed traces have their errors. */
    viewerRoute("get", "/sessions/:session_id", {
      query: sessionTracesQuerySchema,
      async handle({ viewer: { accountId }, params: { session_id: sessionId = "" }, query }) {
        if (textProblem(sessionId) !== undefined) throw new AppError("session_not_found");
        const { limit, cursor: after = oldestCursor } = query;
        const session = await read({ accountId, sessionId, after, limit });
        if (!session) throw new AppError("session_not_found");
        const ids = session.traces.map(({ id }) => id);
        const errors = new Map((await readNotes(pool, accountId, ids)).map(({ id, error }) => [id, error]));
        return {
          ...session,
          traces: session.traces.map((trace) => ({ ...trace, error: errors.get(trace.id) ?? null })),
        };
      },
    }),
    viewerRoute("get", "/users", {
      query: userQuerySchema,
      handle: ({ viewer, query }) => listOfUsers(sumsToList(viewer.accountId, { from: firstDay(now()), ...query })),
    }),
  ];
}

import {
  fewWaiting,
  listSessions,
  listUsers,
  oneByOne,
  sessionQuerySchema,
  sessionSchema,
  sumsToList,
  userQuerySchema,
  userSchema,
} from "@waymark/traces";
import { type ExportDeps, exportRoute, keysOf } from "../exports/export-route.js";
import { shareStatements } from "../traces/share-statements.js";
import { firstDay } from "./first-day.js";

export function sessionExports(deps: ExportDeps) {
  const batching = { pool: deps.pool, createGroupCommit: shareStatements(deps.registry) };
  const sessions = oneByOne(batching, "list-sessions", listSessions, fewWaiting);
  const users = oneByOne(batching, "list-users", listUsers, fewWaiting);
  return [
    exportRoute(deps, {
      name: "sessions",
      query: sessionQuerySchema,
      columns: keysOf(sessionSchema),
      async read(accountId, query) {
        const asked = sumsToList(accountId, { from: firstDay(deps.now()), ...query });
        const { sessions: rows, next_cursor: next } = await sessions(asked);
        return { rows, next };
      },
    }),
    exportRoute(deps, {
      name: "users",
      query: userQuerySchema,
      columns: keysOf(userSchema),
      async read(accountId, query) {
        const asked = sumsToList(accountId, { from: firstDay(deps.now()), ...query });
        const { users: rows, next_cursor: next } = await users(asked);
        return { rows, next };
      },
    }),
  ];
}

import { pageRoute } from "@waymark/service/http";
import { readChanges } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { addNotes } from "./add-notes.js";
import { changesQuery, type TraceChangesAnswer } from "./traces.schema.js";

/** `GET /traces/changes`: new traces, and changes of those on the screen. Probes of primary keys only. */
export function getChangesRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/traces/changes",
    query: changesQuery,
    async handle({ query, response }) {
      const { accountId } = viewerOf(response);
      const { at, created, has_more, changed, gone } = await readChanges(pool, { accountId, ...query });
      const [createdRows = [], changedRows = []] = await addNotes(pool, accountId, [created, changed]);
      const body = { at, created: createdRows, hasMore: has_more, changed: changedRows, gone };
      return { status: 200, body: body satisfies TraceChangesAnswer };
    },
  });
}

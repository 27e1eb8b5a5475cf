import { pageRoute } from "@waymark/service/http";
import { createTracePageReader, presentTracePage, traceQuerySchema, tracesToFind } from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { viewerOf } from "../session/viewer.js";
import { addNotes } from "./add-notes.js";
import { shareStatements } from "./share-statements.js";
import type { TraceList } from "./traces.schema.js";

/** `GET /traces`: the API's list with its query and cursor, and the rows' errors and mails. */
export function listTracesRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const readPage = createTracePageReader({ pool, createGroupCommit: shareStatements(registry) });
  return pageRoute({
    method: "get",
    path: "/traces",
    query: traceQuerySchema,
    async handle({ query, response }) {
      const { accountId } = viewerOf(response);
      const page = presentTracePage(await readPage(tracesToFind(accountId, query)));
      const [traces = []] = await addNotes(pool, accountId, [page.traces]);
      return { status: 200, body: { traces, nextCursor: page.next_cursor } satisfies TraceList };
    },
  });
}

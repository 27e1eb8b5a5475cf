import { route } from "@waymark/http";
import {
  listTraces,
  presentTracePage,
  type TracePage,
  type TracesToFind,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { addNotes } from "./add-notes.js";
import { shareStatements } from "./share-statements.js";
import type { TraceList } from "./traces.schema.js";

/** A search may take half a second: these leave connections to everybody else, as in the API. */
const limits = { maxInFlight: 3, maxInFlightPerOwner: 2, maxWaitingRows: 200, maxRows: 1 } as const;

/** `GET /traces`: the API's list with its query and cursor, and the rows' errors and mails. */
export function listTracesRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const readPage = shareStatements(registry)<TracesToFind, TracePage>({
    name: "list-traces",
    run: (queries) => Promise.all(queries.map((query) => listTraces(pool, query))),
    ...limits,
  });
  return route({
    method: "get",
    path: "/traces",
    operationId: "listTraces",
    summary: "List and search traces",
    query: traceQuerySchema,
    answers: { 200: { description: "A page of traces", schema: z.custom<TraceList>() } },
    async handle({ query, response }) {
      const { accountId } = viewerOf(response);
      const page = presentTracePage(await readPage(tracesToFind(accountId, query)));
      const [traces = []] = await addNotes(pool, accountId, [page.traces]);
      return { status: 200, body: { traces, nextCursor: page.next_cursor } };
    },
  });
}

import { isUuid } from "@waymark/database";
import { parseTimestamp } from "@waymark/service/fields";
import {
  createTracePageReader,
  type ListedTrace,
  listAgentNames,
  maxChanges,
  presentTracePage,
  readChanges,
  readNotes,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "./share-statements.js";

export interface TraceRow extends ListedTrace {
  error: string | null;
  isMailed: boolean;
}

export type TraceList = AnswerOf<typeof traceListRoutes, "get /traces">;
export type TraceChangesAnswer = AnswerOf<typeof traceListRoutes, "get /traces/changes">;
export type AgentNames = AnswerOf<typeof traceListRoutes, "get /traces/agents">;

const idSchema = z.string().refine(isUuid, "Must be the id of a trace").toLowerCase();

const changesQuery = z.object({
  after: idSchema.optional(),
  ids: z
    .string()
    .transform((text) => text.split(",").filter(Boolean))
    .pipe(z.array(idSchema).max(maxChanges, `At most ${maxChanges} ids`))
    .default([]),
  since: z
    .string()
    .refine((text) => parseTimestamp(text).ok, "Must be the time of an earlier answer")
    .optional(),
});

export function traceListRoutes({ pool, registry }: AppDeps) {
  const readPage = createTracePageReader({ pool, createGroupCommit: shareStatements(registry) });
  return [
    /** The API's list with its query and cursor, and the rows' errors and mails. */
    viewerRoute("get", "/traces", {
      query: traceQuerySchema,
      async handle({ viewer: { accountId }, query }) {
        const page = presentTracePage(await readPage(tracesToFind(accountId, query)));
        const [traces = []] = await addNotes(pool, accountId, [page.traces]);
        return { traces, nextCursor: page.next_cursor };
      },
    }),
    /** New traces, and changes of those on the screen; `at` is `since` of the next request. Probes of primary keys only. */
    viewerRoute("get", "/traces/changes", {
      query: changesQuery,
      async handle({ viewer: { accountId }, query }) {
        const { at, has_more, gone, ...lists } = await readChanges(pool, { accountId, ...query });
        const [created = [], changed = []] = await addNotes(pool, accountId, [lists.created, lists.changed]);
        return { at, created, hasMore: has_more, changed, gone };
      },
    }),
    viewerRoute("get", "/traces/agents", {
      handle: async ({ viewer }) => ({ agents: await listAgentNames(pool, viewer.accountId) }),
    }),
  ];
}

/** Adds errors and mails to several lists of traces by one statement. */
async function addNotes(
  pool: pg.Pool,
  accountId: string,
  lists: readonly (readonly ListedTrace[])[],
): Promise<TraceRow[][]> {
  const notes = await readNotes(pool, accountId, [...new Set(lists.flat().map(({ id }) => id))]);
  const byId = new Map(notes.map((note) => [note.id, note]));
  const toRow = (trace: ListedTrace): TraceRow => {
    const note = byId.get(trace.id);
    return { ...trace, error: note?.error ?? null, isMailed: note?.is_mailed ?? false };
  };
  return lists.map((traces) => traces.map(toRow));
}

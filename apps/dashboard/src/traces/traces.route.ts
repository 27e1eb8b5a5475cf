import { isUuid } from "@waymark/database";
import { parseTimestamp } from "@waymark/service/fields";
import { pageRoute } from "@waymark/service/http";
import {
  addListParts,
  createTracePageReader,
  fewWaiting,
  type ListedTrace,
  listAgentNames,
  listPartsSchema,
  maxChanges,
  oneByOne,
  presentTracePage,
  readChanges,
  readNotes,
  type TraceCursor,
  traceAnswers,
  traceExportSchema,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerOf, viewerRoute } from "../session/viewer.js";
import type { AnswerExport } from "./export-list.js";
import { shareStatements } from "./share-statements.js";

/** A row of the list; a list with `include` has only those parts. */
export type TraceRow = Awaited<ReturnType<typeof addListParts>>[number] & { error: string | null; isMailed: boolean };

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

const allParts = ["labels", "usage", "preview"] as const;

const columns = [
  ...Object.keys(traceAnswers.listed),
  "duration_ms",
  ...Object.keys(listPartsSchema.shape),
  "error",
  "isMailed",
];
/** Of a read, the list's most. */
const exportedRows = 200;

interface Lists {
  accountId: string;
  lists: readonly (readonly ListedTrace[])[];
  parts: readonly (typeof allParts)[number][];
}

export function traceListRoutes({ pool, registry, answerExport }: AppDeps & { answerExport: AnswerExport }) {
  const createGroupCommit = shareStatements(registry);
  const readPage = createTracePageReader({ pool, createGroupCommit });
  const addAll = oneByOne({ pool, createGroupCommit }, "list-rows", addToLists, fewWaiting);
  return [
    /** The API's list with its query and cursor, the rows' errors and mails, and all parts where `include` names none. */
    viewerRoute("get", "/traces", {
      query: traceQuerySchema,
      async handle({ viewer: { accountId }, query }) {
        const page = presentTracePage(await readPage(tracesToFind(accountId, query)));
        const parts = query.include ?? allParts;
        const [traces = []] = await addAll({ accountId, lists: [page.traces], parts });
        return { traces, nextCursor: page.next_cursor };
      },
    }),
    /** The whole list of `GET /traces` with all parts as a file. */
    pageRoute({
      method: "get",
      path: "/traces/export",
      query: traceExportSchema,
      handle({ query: { format, ...query }, request, response }) {
        const { accountId } = viewerOf(response);
        const find = tracesToFind(accountId, { ...query, limit: exportedRows, cursor: undefined });
        async function read(after: TraceCursor = find.after) {
          const page = await readPage({ ...find, after });
          const { traces } = presentTracePage(page);
          const [rows = []] = await addAll({ accountId, lists: [traces], parts: allParts });
          return { rows, next: page.next };
        }
        return answerExport({ name: "traces", columns, read }, { format, request, response });
      },
    }),
    /** New traces, and changes of those on the screen; `at` is `since` of the next request. Probes of primary keys only. */
    viewerRoute("get", "/traces/changes", {
      query: changesQuery,
      async handle({ viewer: { accountId }, query }) {
        const { at, has_more, gone, ...lists } = await readChanges(pool, { accountId, ...query });
        const read = { accountId, lists: [lists.created, lists.changed], parts: allParts };
        const [created = [], changed = []] = await addAll(read);
        return { at, created, hasMore: has_more, changed, gone };
      },
    }),
    viewerRoute("get", "/traces/agents", {
      handle: async ({ viewer }) => ({ agents: await listAgentNames(pool, viewer.accountId) }),
    }),
  ] as const;
}

async function addToLists(pool: pg.Pool, { accountId, lists, parts }: Lists): Promise<TraceRow[][]> {
  const traces = [...new Map(lists.flat().map((trace) => [trace.id, trace])).values()];
  const notes = await readNotes(
    pool,
    accountId,
    traces.map(({ id }) => id),
  );
  const noteOf = new Map(notes.map((note) => [note.id, note]));
  const rows = await addListParts(pool, { accountId, traces, parts });
  const byId = new Map(
    rows.map((row): [string, TraceRow] => {
      const note = noteOf.get(row.id);
      return [row.id, { ...row, error: note?.error ?? null, isMailed: note?.is_mailed ?? false }];
    }),
  );
  return lists.map((list) => list.flatMap(({ id }) => byId.get(id) ?? []));
}

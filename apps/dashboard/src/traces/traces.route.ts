import { isUuid } from "@waymark/database";
import { parseTimestamp } from "@waymark/service/fields";
import { pageRoute } from "@waymark/service/http";
import {
  createTracePageReader,
  findTraces,
  listAgentNames,
  listPartsSchema,
  maxChanges,
  presentTracePage,
  readChanges,
  type TraceCursor,
  traceAnswers,
  traceExportSchema,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import type { AnswerExport } from "../exports/export-list.js";
import { manyIds } from "../many-ids.js";
import { type AnswerOf, viewerOf, viewerRoute } from "../session/viewer.js";
import type { ReadRows } from "./list-rows.js";
import { shareStatements } from "./share-statements.js";

export type { TraceRow } from "./list-rows.js";

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
  include: traceQuerySchema.shape.include,
  since: z
    .string()
    .refine((text) => parseTimestamp(text).ok, "Must be the time of an earlier answer")
    .optional(),
});

const exportQuery = traceExportSchema.safeExtend({
  ids: z
    .string()
    .transform((text) => text.split(","))
    .pipe(manyIds)
    .optional(),
});

const columns = [
  ...Object.keys(traceAnswers.listed),
  "duration_ms",
  ...Object.keys(listPartsSchema.shape),
  "error",
  "isMailed",
];
const exportedParts = ["labels", "usage", "preview", "models", "scores"] as const;
/** Of a read, the list's most. */
const exportedRows = 200;

interface ListDeps {
  answerExport: AnswerExport;
  readRows: ReadRows;
}

export function traceListRoutes({ pool, registry, answerExport, readRows }: AppDeps & ListDeps) {
  const createGroupCommit = shareStatements(registry);
  const readPage = createTracePageReader({ pool, createGroupCommit });
  return [
    /** The API's list with its query and cursor, the rows' errors and mails, and all parts where `include` names none. */
    viewerRoute("get", "/traces", {
      query: traceQuerySchema,
      async handle({ viewer: { accountId }, query }) {
        const page = presentTracePage(await readPage(tracesToFind(accountId, query)));
        const [traces = []] = await readRows({ accountId, lists: [page.traces], parts: query.include });
        return { traces, nextCursor: page.next_cursor };
      },
    }),
    /** The whole list of `GET /traces`, or chosen traces, with all parts as a file. */
    pageRoute({
      method: "get",
      path: "/traces/export",
      query: exportQuery,
      handle({ query: { format, ids, ...query }, request, response }) {
        const { accountId } = viewerOf(response);
        const find = tracesToFind(accountId, { ...query, limit: exportedRows, cursor: undefined });
        async function read(after: TraceCursor = find.after) {
          const chosen = ids && { traces: await findTraces(pool, accountId, ids), next: null };
          const page = chosen ?? (await readPage({ ...find, after }));
          const { traces } = presentTracePage(page);
          const [rows = []] = await readRows({ accountId, lists: [traces], parts: exportedParts });
          return { rows, next: page.next };
        }
        return answerExport({ name: "traces", columns, read }, { format, request, response });
      },
    }),
    /** New traces, and changes of those on the screen; `at` is `since` of the next request. Probes of primary keys only. */
    viewerRoute("get", "/traces/changes", {
      query: changesQuery,
      async handle({ viewer: { accountId }, query }) {
        const { include: parts, ...asked } = query;
        const { at, has_more, gone, ...lists } = await readChanges(pool, { accountId, ...asked });
        const [created = [], changed = []] = await readRows({
          accountId,
          lists: [lists.created, lists.changed],
          parts,
        });
        return { at, created, hasMore: has_more, changed, gone };
      },
    }),
    viewerRoute("get", "/traces/agents", {
      handle: async ({ viewer }) => ({ agents: await listAgentNames(pool, viewer.accountId) }),
    }),
  ] as const;
}

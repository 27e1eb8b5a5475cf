import { pageRoute } from "@waymark/service/http";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { viewerOf } from "../session/viewer.js";
import { type AnswerExport, exportFormats } from "./export-list.js";

/** What a page of a list asks for, beside its filters. */
interface Paging {
  limit: number;
  cursor?: unknown;
}

interface ExportedList<Query extends z.ZodObject> {
  /** In the path, and in the file's name. */
  name: string;
  query: Query;
  columns: readonly string[];
  /** A page, and what the query of the next one has as its cursor; null after the last. */
  read(accountId: string, query: z.output<Query> & Paging): Promise<{ rows: readonly object[]; next: string | null }>;
}

export type ExportDeps = AppDeps & { answerExport: AnswerExport };

const format = z.enum(exportFormats);
const rowsOfPage = 200;

export const keysOf = ({ shape }: z.ZodObject) => Object.keys(shape);

/** A list as a file, with the filters of its page. Pages after the first keep the end of the range. */
export function exportRoute<Query extends z.ZodObject>(
  { answerExport, now }: Pick<ExportDeps, "answerExport" | "now">,
  { name, query: schema, columns, read }: ExportedList<Query>,
) {
  return pageRoute({
    method: "get",
    path: `/exports/${name}`,
    query: schema.safeExtend({ format }),
    handle({ query, request, response }) {
      const { accountId } = viewerOf(response);
      const { format: asked, ...filters } = query as z.output<Query> & { format: z.output<typeof format> };
      const hasRange = "to" in schema.shape && filters["to"] === undefined;
      const texts = { ...request.query, ...(hasRange && { to: now().toISOString() }) };
      const pageOf = (cursor?: string) => {
        const page = schema.safeParse({ ...texts, ...(cursor !== undefined && { cursor }) });
        // Without its cursor a later page would be the first one again, without end.
        if (!page.success && cursor !== undefined) throw page.error;
        return { ...(page.data ?? filters), limit: rowsOfPage } as z.output<Query> & Paging;
      };
      const readPage = (cursor?: string) => read(accountId, pageOf(cursor));
      return answerExport({ name, columns, read: readPage }, { format: asked, request, response });
    },
  });
}

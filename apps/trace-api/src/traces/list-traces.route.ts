import { principalOf } from "@waymark/auth";
import { route } from "@waymark/service/http";
import {
  type Batching,
  createTracePageReader,
  maxExamineMs,
  presentTracePage,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import { exampleTrace, tracePageSchema } from "./trace-answer.schema.js";

/** `GET /traces`: an account's traces, newest first, by page. */
export function listTracesRoute(deps: Batching) {
  const readPage = createTracePageReader(deps);
  return route({
    method: "get",
    scope: "read",
    path: "/traces",
    operationId: "listTraces",
    summary: "List and search traces",
    description: `Newest first by \`started_at\`. New traces do not shift the pages: each earlier trace appears once. A search for rare traces pauses after ${maxExamineMs} milliseconds; the page is then short or empty, and \`next_cursor\` continues the search. The last page has a null \`next_cursor\`.`,
    query: traceQuerySchema,
    answers: {
      200: {
        description: "A page of traces",
        schema: tracePageSchema,
        example: { traces: [{ ...exampleTrace, duration_ms: 4250 }], next_cursor: null },
      },
    },
    async handle({ query, response }) {
      const page = await readPage(tracesToFind(principalOf(response).accountId, query));
      return { status: 200, body: presentTracePage(page) };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { route } from "@waymark/service/http";
import {
  addListParts,
  type Batching,
  fewWaiting,
  maxExamineMs,
  oneByOne,
  presentTracePage,
  type TracePageReader,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import { exampleTrace, tracePageSchema } from "./trace-answer.schema.js";

/** `GET /traces`: an account's traces, newest first, by page. */
export function listTracesRoute(deps: Batching & { readTracePage: TracePageReader }) {
  const addParts = oneByOne(deps, "list-parts", addListParts, fewWaiting);
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
      const { accountId } = principalOf(response);
      const page = presentTracePage(await deps.readTracePage(tracesToFind(accountId, query)));
      if (!query.include) return { status: 200, body: page };
      const traces = await addParts({ accountId, traces: page.traces, parts: query.include });
      return { status: 200, body: { ...page, traces } };
    },
  });
}

import { principalOf } from "@waymark/auth";
import { isUuid } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { textField } from "@waymark/service/fields";
import { maxCharsParameter, type ToolRead, toolRead } from "@waymark/service/mcp";
import {
  type Batching,
  type FoundSpan,
  fewWaiting,
  oneByOne,
  presentTracePage,
  searchSpans,
  spanStatuses,
  stepSchema,
  type TracePageReader,
  traceQuerySchema,
  tracesToFind,
} from "@waymark/traces";
import { z } from "zod";
import { findTraceId } from "../path-ids.js";
import { kindParameter } from "../traces/trace-answer.schema.js";

const of = traceQuerySchema.shape;

const query = z.object({
  q: of.q.describe('All of these words in the name, input, output or error; "a phrase" in quotes has its spaces'),
  trace_id: textField({ max: 36 }).optional().describe("In this trace alone; in the newest traces if omitted"),
  name: textField({ min: 1, max: 200 }).optional().describe("A part of the step's name; case is ignored"),
  kind: kindParameter,
  status: z.enum(spanStatuses).optional().describe("Of the step"),
  model: textField({ min: 1, max: 200 }).optional().describe("A part of the model's name; case is ignored"),
  agent_id: of.agent_id.describe("Without `trace_id`: traces of this agent alone"),
  from: of.from,
  to: of.to,
  limit: of.limit,
  cursor: textField({ max: 1_000 }).optional().describe("`next_cursor` of an earlier answer with the same arguments"),
  max_chars: maxCharsParameter,
});
type Query = z.output<typeof query>;

const foundSchema = stepSchema.extend({
  trace_id: z.string(),
  found_in: z.string().nullable().describe("Where the first word stands"),
  excerpt: z.string().nullable().describe("The text around it"),
});

/** Of one call, over all its traces. */
const maxMs = 800;
const tracesPerPage = 10;
const margin = 400;
const relativeCharacters = 40;

/** Where a search goes on: the traces after `list`, and before them the spans of `traceId` after `spanId`. */
interface Position {
  list?: string | undefined;
  traceId?: string | undefined;
  spanId?: string | undefined;
}

export function searchSpansRead(deps: Batching & { readTracePage: TracePageReader }): ToolRead {
  const search = oneByOne(deps, "tool-search-spans", searchSpans, fewWaiting);

  async function find(accountId: string, asked: Query, traceId: string | undefined) {
    const endMs = performance.now() + maxMs;
    const spans: FoundSpan[] = [];
    let room = asked.max_chars - margin;
    /** Takes the spans of a trace; returns the span to go on after, if it is to be continued. */
    const take = async (of: string, after: string | undefined) => {
      const limit = asked.limit - spans.length;
      const found = await search({ ...filterOf(asked), accountId, traceId: of, after, limit, endMs });
      for (const span of found.spans) {
        room -= JSON.stringify(span).length + relativeCharacters;
        if (room < 0 && spans.length > 0) return spans.at(-1)?.trace_id === of ? spans.at(-1)?.id : (after ?? smallest);
        spans.push(span);
      }
      return found.next;
    };
    const from = readPosition(asked.cursor);
    if (traceId !== undefined) {
      const spanId = await take(traceId, from.spanId);
      return { spans, next: spanId && { spanId } };
    }
    if (from.traceId !== undefined) {
      const spanId = await take(from.traceId, from.spanId);
      if (spanId !== undefined) return { spans, next: { ...from, spanId } };
    }
    for (let list = from.list; ; ) {
      const { q, agent_id, from: since, to } = asked;
      const page = await deps.readTracePage({
        ...tracesToFind(accountId, { ...emptyQuery, agent_id, from: since, to, cursor: listCursor(list) }),
        search: q,
      });
      for (const { id, started_at } of page.traces) {
        const spanId = await take(id, undefined);
        const here = presentTracePage({ traces: [], next: { startedAt: started_at, id } }).next_cursor ?? undefined;
        if (spanId !== undefined) return { spans, next: { list: here, traceId: id, spanId } };
        if (spans.length >= asked.limit || performance.now() > endMs) return { spans, next: { list: here } };
      }
      list = presentTracePage({ traces: [], next: page.next }).next_cursor ?? undefined;
      if (list === undefined) return { spans, next: undefined };
      if (performance.now() > endMs) return { spans, next: { list } };
    }
  }

  return toolRead({
    query,
    answer: z.object({ spans: z.array(foundSchema), next_cursor: z.string().nullable() }),
    async handle({ query: asked, response }) {
      const { accountId } = principalOf(response);
      const { trace_id } = asked;
      const traceId = trace_id === undefined ? undefined : await findTraceId(deps.pool, accountId, { trace_id });
      const { spans, next } = await find(accountId, asked, traceId);
      const cursor = next && Buffer.from(JSON.stringify(next)).toString("base64url");
      return { spans, next_cursor: cursor ?? null };
    },
  });
}

const smallest = "00000000-0000-0000-0000-000000000000";
const emptyQuery = { limit: tracesPerPage };

function listCursor(text: string | undefined) {
  return text === undefined ? undefined : of.cursor.parse(text);
}

function filterOf({ q: search, name, kind: kinds, status, model }: Query) {
  return { search, name, kinds, status, model };
}

/** @throws AppError 400 for another text than a cursor */
function readPosition(text: string | undefined): Position {
  if (text === undefined) return {};
  try {
    const { list, traceId, spanId } = positionSchema.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
    listCursor(list);
    return { list, traceId, spanId };
  } catch {
    throw validationError({ cursor: "Must be the next_cursor of an earlier answer" });
  }
}

const uuid = z.string().refine(isUuid).optional();
const positionSchema = z.object({ list: z.string().optional(), traceId: uuid, spanId: uuid });

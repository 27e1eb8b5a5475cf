import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import type { Route } from "@waymark/service/http";
import { type AnswerCall, cleanJson, type McpTool, maxCharacters, textPart } from "@waymark/service/mcp";
import type { SpanKind, TraceChunk, TraceReader } from "@waymark/traces";
import type pg from "pg";
import { traceIdOf } from "../path-ids.js";
import { type PartName, readParts } from "../traces/trace-parts.js";

/** The scope of `/mcp`: a tool needs no other one. */
type ReadRoute = Route & { scope: "read" };

interface ToolRoutes {
  listTraces: ReadRoute;
  getTrace: ReadRoute;
  listAgents: ReadRoute;
  listFailures: ReadRoute;
  getUsage: ReadRoute;
  readModelUsage: ReadRoute;
}

/** The tools of the trace API. */
export function traceTools(routes: ToolRoutes, answerTrace: AnswerCall): McpTool[] {
  const { listTraces, getTrace, listAgents, listFailures, getUsage, readModelUsage } = routes;
  return [
    {
      name: "list_traces",
      description: "Find traces of AI agents, newest first. A trace is one task of an agent. `next_cursor` goes on.",
      route: listTraces,
    },
    {
      name: "get_trace",
      description:
        "Read a trace with its spans: the agent's steps with inputs, outputs and errors. A long trace is cut: call again with the `span_id`, and the `next_cursor` as `cursor`, at the end of the answer.",
      route: getTrace,
      further: {
        arguments: {
          span_id: "Begins with this span; the `span_id` of an answer that was cut",
          cursor: "The `next_cursor` of an answer with a part of a span",
        },
        answer: answerTrace,
      },
    },
    { name: "list_agents", description: "List agents, with counts of their traces by status.", route: listAgents },
    {
      name: "list_failures",
      description: "List what went wrong in failed traces, most frequent first, with an example trace each.",
      route: listFailures,
    },
    {
      name: "get_usage",
      description:
        "Read the plan's limits and their use this month, and the tokens and cost of each model and day in a range.",
      route: readModelUsage,
      before: getUsage,
    },
  ];
}

/** Room for the end of a cut answer: the id to go on with. */
const endCharacters = 100;

/** A piece of a trace's JSON: up to `"spans":[`, a span, or from `]` on. */
interface Piece {
  kind: "head" | "span" | "tail";
  json: string;
}
type Pieces = AsyncGenerator<Piece, void, void>;

/**
 * Makes the answer of a trace as far as it fits, beginning with `span_id` if given; the database reads no further. A cut answer
 * ends with the `span_id` to go on with. A span too long for one answer comes alone, in parts of its JSON, with `next_cursor`
 * for the next part; metadata likewise.
 */
export function createTraceAnswers({ pool, traceReader }: { pool: pg.Pool; traceReader: TraceReader }): AnswerCall {
  return async ({ params, query, own: { span_id: from, cursor }, response }) => {
    const trace = { accountId: principalOf(response).accountId, traceId: traceIdOf(params) };
    const { include: parts = [], kind: kinds } = query as { include?: PartName[]; kind?: SpanKind[] };
    const chunks = traceReader.readChunks({ ...trace, parts, kinds }, from);
    const pieces = piecesOf(chunks, () => readParts(pool, trace, parts));
    try {
      return await present(pieces, from, cursor);
    } finally {
      await pieces.return();
    }
  };
}

async function* piecesOf(chunks: AsyncIterable<TraceChunk>, readMembers: () => Promise<string>): Pieces {
  for await (const { head, spans } of chunks) {
    if (head !== null) yield { kind: "head", json: cleanJson(head) };
    for (const json of spans) yield { kind: "span", json: cleanJson(json) };
  }
  yield { kind: "tail", json: cleanJson(`]${await readMembers()}}`) };
}

async function present(pieces: Pieces, from: string | undefined, cursor: string | undefined): Promise<string> {
  const whole = (await take(pieces)).json;
  const isLong = whole.length > maxCharacters / 2;
  if (from === undefined && (isLong || cursor !== undefined)) {
    return partOf({ kind: "head", json: `${whole}]}` }, cursor, pieces);
  }
  const head = isLong ? `{"id":"${idOf(whole)}","spans":[` : whole;
  let text = head;
  for (let piece = await take(pieces); ; piece = await take(pieces)) {
    const isFirst = text === head;
    if (isFirst && from !== undefined && (piece.kind === "tail" || idOf(piece.json) !== from)) {
      throw new AppError("span_not_found");
    }
    if (piece.kind === "tail") return text + (text.length + piece.json.length > maxCharacters ? "]}" : piece.json);
    const isTooLong = text.length + piece.json.length + endCharacters > maxCharacters;
    if (cursor !== undefined || (isTooLong && isFirst && from !== undefined)) return partOf(piece, cursor, pieces);
    if (isTooLong) return `${text}],"span_id":"${idOf(piece.json)}"}`;
    text += (isFirst ? "" : ",") + piece.json;
  }
}

async function take(pieces: Pieces): Promise<Piece> {
  const next = await pieces.next();
  return next.done ? { kind: "tail", json: "" } : next.value;
}

/** A part of one piece, with the arguments to go on with: further parts of it, or the next span. */
async function partOf({ kind, json }: Piece, cursor: string | undefined, pieces: Pieces): Promise<string> {
  const part = textPart(json, cursor);
  const following = await take(pieces);
  const own = kind === "span" ? idOf(json) : null;
  const next = following.kind === "span" ? idOf(following.json) : null;
  return JSON.stringify({ id: idOf(json), ...part, span_id: part.next_cursor === null ? next : own });
}

/** Traces and spans begin with their ids. */
function idOf(json: string): string {
  return /^\{"id":"([^"]*)"/.exec(json)?.[1] ?? "";
}

import { hash } from "node:crypto";
import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { type Answer, isKnownTag, route } from "@waymark/service/http";
import type { TraceReader, TraceToRead } from "@waymark/traces";
import type { Request } from "express";
import type pg from "pg";
import { z } from "zod";
import { invalidQuery } from "../answers.js";
import { eitherIdParameter, findTraceId } from "../path-ids.js";
import {
  exampleTrace,
  kindParameter,
  type PartName,
  readParts,
  traceIncludeParameter,
  traceSchema,
} from "./trace-answer.schema.js";

const querySchema = z.object({ include: traceIncludeParameter, kind: kindParameter });

interface GetTraceDeps {
  pool: pg.Pool;
  traceReader: TraceReader;
}

/** `GET /traces/:trace_id`: a trace with all its spans (trace contract, "GET /api/v1/traces/:trace_id"). */
export function getTraceRoute(deps: GetTraceDeps) {
  const answer = createAnswers(deps);
  return route({
    method: "get",
    scope: "read",
    path: "/traces/:trace_id",
    operationId: "getTrace",
    summary: "Read a trace with all its spans",
    description: "Spans have the order of receipt, spans from OpenTelemetry the order of their ids. Times are in UTC.",
    params: eitherIdParameter,
    query: querySchema,
    lenientQuery: [],
    headers: {
      "If-None-Match": {
        description: "The `ETag` of an earlier answer: 304 without a body if it would be the same",
        example: 'W/"5f1d7a84db00d2fce00b31a7fc73224f"',
      },
    },
    answers: {
      200: {
        description:
          "The trace; with an `ETag` once it is finished, if it has less than 1,000 spans. With that tag in `If-None-Match`: 304",
        schema: traceSchema,
        headers: ["ETag"],
        example: {
          ...exampleTrace,
          metadata: { model: "gpt-4o" },
          spans: [
            {
              id: "019c13f2-6ce1-7d57-8b1c-8a54dfd5b0a4",
              name: "get_order",
              status: "ok",
              started_at: "2026-01-31T12:00:00.200Z",
              ended_at: "2026-01-31T12:00:00.450Z",
              input: { order: 1042 },
              output: { state: "paid" },
              error: null,
              parent_span_id: null,
            },
          ],
        },
      },
      400: {
        ...invalidQuery,
        example: {
          error: "Validation failed",
          fields: {
            include: "Must be one or several of these, separated by commas: kind, attributes, usage, scores, labels",
          },
        },
      },
    },
    async handle({ params, query, request, response }) {
      const { accountId } = principalOf(response);
      const { include = [], kind } = query;
      const traceId = await findTraceId(deps.pool, accountId, params);
      return answer(request, { accountId, traceId, kinds: kind }, include);
    },
  });
}

function createAnswers({ pool, traceReader: { readTrace, readVersion } }: GetTraceDeps) {
  return async (request: Request, address: Omit<TraceToRead, "parts">, parts: readonly PartName[]): Promise<Answer> => {
    const members = await readParts(pool, address, parts);
    const choice = [...parts, ...(address.kinds ?? []).map((kind) => `kind=${kind}`)];
    if (request.headers["if-none-match"] !== undefined) {
      const found = await readVersion(address);
      if (!found) throw new AppError("trace_not_found");
      const tag = traceTag(found.version, choice, members);
      if (isKnownTag(request, tag)) return { status: 304, headers: headersOf(tag), body: "" };
    }
    const trace = await readTrace({ ...address, parts }, members);
    if (!trace) throw new AppError("trace_not_found");
    return { status: 200, headers: headersOf(traceTag(trace.version, choice, members)), body: trace.body };
  };
}

/** A client may keep an answer with a tag if it asks each time whether it is still the same. */
function headersOf(tag: string | undefined): Record<string, string> {
  return tag === undefined ? {} : { ETag: tag, "Cache-Control": "private, no-cache" };
}

/**
 * The `ETag` of an answer with a trace; undefined without a version. It is weak: a new release may write the same answer in
 * other bytes.
 * @param choice the parts and kinds that were asked for
 * @param members the parts beyond the trace's rows
 */
function traceTag(version: string | null, choice: readonly string[], members: string): string | undefined {
  if (version === null) return undefined;
  if (choice.length === 0) return `W/"${version}"`;
  return `W/"${hash("sha256", [version, ...choice, members].join("\n"), "hex").slice(0, 32)}"`;
}

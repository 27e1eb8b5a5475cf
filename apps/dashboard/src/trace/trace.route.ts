import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import {
  type Answer,
  createRefusals,
  createShares,
  createWorkShares,
  pageRoute,
  type Route,
} from "@waymark/service/http";
import {
  type ContentName,
  contentNames,
  createTraceReader,
  fieldOf,
  findTraceName,
  largeAnswerLimits,
  readContent,
  readOutline,
  readSpan,
  readTraceUsage,
} from "@waymark/traces";
import type { Request } from "express";
import type { Registry } from "prom-client";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { idOf } from "../path-id.js";
import { type AnswerOf, viewerOf, viewerRoute } from "../session/viewer.js";
import { shareStatements } from "../traces/share-statements.js";

export function traceRoutes(deps: TraceDeps) {
  const own: TraceWay = {
    base: "/traces/:id",
    query: outlineQuery.extend({ include: z.enum(["digests"]).optional() }),
    subjectOf: ({ params, response }) => {
      const { accountId } = viewerOf(response);
      return { accountId, traceId: idOf(params["id"], "trace_not_found") };
    },
  };
  return [...readTraceRoutes(deps, own), getUsageRoute(deps), exportTraceRoute(deps)] as const;
}

/** How a request names the trace that it may read. */
interface TraceWay {
  base: string;
  query: z.ZodType<z.output<typeof outlineQuery> & { include?: "digests" | undefined }>;
  subjectOf(input: Pick<Parameters<Route["handle"]>[0], "params" | "response">): TraceSubject;
}

interface TraceSubject {
  accountId: string;
  traceId: string;
  isShared?: true;
}

/** The outline of a trace, a span, and a content of it. */
export function readTraceRoutes(deps: TraceDeps, way: TraceWay) {
  return [getOutlineRoute(deps, way), getSpanRoute(deps, way), getContentRoute(deps, way)] as const;
}

/** An account's shares of what reads of traces hold, by its people and its links alike. */
export function createTraceShares(registry: Registry) {
  const refusals = createRefusals(registry);
  return { outlines: createWorkShares(outlineLimits, refusals), downloads: createShares(downloadLimits, refusals) };
}

type TraceDeps = AppDeps & ReturnType<typeof createTraceShares>;

export type TraceUsage = AnswerOf<typeof traceRoutes, "get /traces/:id/usage">;

function getUsageRoute({ pool }: AppDeps) {
  return viewerRoute("get", "/traces/:id/usage", {
    async handle({ viewer: { accountId }, params }) {
      const traceId = idOf(params["id"], "trace_not_found");
      if ((await findTraceName(pool, accountId, traceId)) === undefined) throw new AppError("trace_not_found");
      return readTraceUsage(pool, accountId, traceId);
    },
  });
}

const maxIds = 100;
const uuid = z.string().refine(isUuid, "Must be an id");
const uuids = z
  .string()
  .transform((text) => text.split(",").filter(Boolean))
  .pipe(z.array(uuid).max(maxIds, `At most ${maxIds} ids`));

export const outlineQuery = z.object({ after: uuid.optional(), ids: uuids.optional() });

/** A page of 5,000 spans takes some megabytes while it is made, and most of a processor. */
const outlineLimits = {
  tasks: "outlines",
  owner: "account",
  maxRunning: 2,
  maxRunningPerOwner: 2,
  maxWaiting: 200,
  maxWaitingPerOwner: 40,
  maxWaitMs: 10_000,
};

/**
 * `GET …/outline`: the trace and a page of its spans without contents, or what changed of them; with `include=digests`
 * also the spans' models and numbers of their inputs and outputs, to compare two traces.
 */
function getOutlineRoute({ pool, outlines }: TraceDeps, { base, query: querySchema, subjectOf }: TraceWay) {
  return pageRoute({
    method: "get",
    path: `${base}/outline`,
    query: querySchema,
    async handle({ query: { after, ids, include }, request, ...input }) {
      const subject = subjectOf(input);
      const read = async () => {
        const outline = await readOutline(pool, { ...subject, after, ids, hasDigests: include !== undefined });
        if (!outline) throw new AppError("trace_not_found");
        return compressedJson(request, outline);
      };
      return outlines.run(subject.accountId, read, () => input.response.destroyed);
    },
  });
}

/** `GET …/spans/:span_id`: a span's contents as the texts that were sent. */
function getSpanRoute({ pool }: TraceDeps, { base, subjectOf }: TraceWay) {
  return pageRoute({
    method: "get",
    path: `${base}/spans/:span_id`,
    async handle({ params, request, response }) {
      const { accountId, traceId } = subjectOf({ params, response });
      const spanId = params["span_id"] ?? "";
      const span = isUuid(spanId) ? await readSpan(pool, { accountId, traceId, spanId }) : undefined;
      if (!span) throw new AppError("span_not_found");
      return compressedJson(request, JSON.stringify(span));
    },
  });
}

const isContent = (name: string): name is ContentName => (contentNames as readonly string[]).includes(name);

/** A value is held in memory until the browser took it. */
const downloadLimits = {
  name: "content_downloads",
  total: 4,
  perAccount: 2,
  reason: (most: number) => `At most ${most} downloads of contents may be under way`,
};

/** `GET …/spans/:span_id/:content`: one part of a span's contents, the bytes that were sent, as a download. */
function getContentRoute({ pool, downloads }: TraceDeps, { base, subjectOf }: TraceWay) {
  return pageRoute({
    method: "get",
    path: `${base}/spans/:span_id/:content`,
    async handle({ params, response }) {
      const { accountId, traceId } = subjectOf({ params, response });
      const { span_id: spanId = "", content: name = "" } = params;
      if (!isUuid(spanId) || !isContent(name)) throw new AppError("span_not_found");
      const refusal = downloads.take(accountId, 1);
      if (refusal) throw refusal;
      response.once("close", () => downloads.give(accountId, 1));
      const body = await readContent(pool, { accountId, traceId, spanId, name });
      if (body === undefined) throw new AppError("span_not_found");
      const [extension, media] = fieldOf(name).type === "json" ? ["json", "application/json"] : ["txt", "text/plain"];
      const headers = { "Content-Disposition": `attachment; filename="span-${spanId}-${name}.${extension}"` };
      const contentType = `${media}; charset=utf-8`;
      return { status: 200, headers, contentType, body };
    },
  });
}

/** `GET /traces/:id/export`: the trace API's answer as a download. */
function exportTraceRoute({ pool, registry }: AppDeps) {
  const { readTrace } = createTraceReader({
    pool,
    createGroupCommit: shareStatements(registry),
    largeAnswers: createShares(largeAnswerLimits, createRefusals(registry)),
  });
  return pageRoute({
    method: "get",
    path: "/traces/:id/export",
    query: z.object({ include: z.enum(["attributes"]).optional() }),
    async handle({ params, query, response }) {
      const { accountId } = viewerOf(response);
      const traceId = idOf(params["id"], "trace_not_found");
      const trace = await readTrace({ accountId, traceId, parts: query.include ? [query.include] : [] });
      if (!trace) throw new AppError("trace_not_found");
      const headers = { "Content-Disposition": `attachment; filename="trace-${traceId}.json"` };
      return { status: 200, headers, body: trace.body };
    },
  });
}

const gzipBytes = promisify(gzip);
const minBytes = 8_192;
/** Level 6 saves a tenth and takes twice the time. */
const gzipOptions = { level: 1, chunkSize: 131_072 };

/** An answer of JSON text, compressed where it is worth it and the browser takes it. */
async function compressedJson(request: Request, text: string): Promise<Answer> {
  const headers = { Vary: "Accept-Encoding" };
  const isSmall = text.length < minBytes || !request.acceptsEncodings("gzip");
  if (isSmall) return { status: 200, headers, body: text };
  const bytes = await gzipBytes(text, gzipOptions);
  const contentType = "application/json; charset=utf-8";
  return { status: 200, headers: { ...headers, "Content-Encoding": "gzip" }, contentType, body: bytes };
}

import { AppError } from "@waymark/errors";
import type { IRouter, Request, RequestHandler, Response } from "express";
import { z } from "zod";
import type { JsonBody, OpaqueMembers } from "../body/json-body.js";
import type { Shares } from "../limits/shares.js";
import { named } from "../schema/json-schema.js";
import { validate } from "../schema/validate.js";
import { type IdempotencyKey, readIdempotencyKey } from "./idempotency-key.js";
import { createQueryReader } from "./read-query.js";
import { markRoute } from "./request-context.js";

/** What a handler answers: JSON to write, or text that is already written, whole or in pieces, as JSON or in another media type. */
export interface Answer {
  status: number;
  /** A `Cache-Control` among them replaces `no-store`. */
  headers?: Readonly<Record<string, string>>;
  body: object | string | AsyncIterable<string>;
  /** Of a body that is text; JSON if omitted. */
  contentType?: string;
}

/** What a handler is given: input that was checked, and Express's own objects. */
export interface RouteInput<Query, Body> {
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** Where the route takes idempotency keys and the request has one. */
  idempotency?: IdempotencyKey | undefined;
  request: Request;
  response: Response;
}

/** One answer of a route as the API description shows it. */
export interface DocumentedAnswer {
  description: string;
  schema: z.ZodType;
  example?: unknown;
  /** An example for each further media type that a client may ask for; the schema is that of the JSON. */
  textExamples?: Readonly<Record<string, string>>;
  headers?: readonly string[];
  /** Where it is not JSON. */
  contentType?: string;
}

/** A route: where it is, what it takes, what it answers. The same schemas check requests and describe the API. */
export interface RouteSpec<Query extends z.ZodType, Body extends z.ZodType> extends OpaqueMembers {
  method: "get" | "post" | "patch" | "delete";
  /** Express's form, such as `/traces/:trace_id`, below the router's own path. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  params?: Readonly<Record<string, string>>;
  /** An object schema of the query parameters. Others are refused with 400, unless `lenientQuery` lets them pass. */
  query?: Query;
  /**
   * Of an operation that must ignore unknown query parameters, since its contract is silent about them: the parameters that
   * the contract names. A request that uses any other parameter of the route is beyond the contract, and strict again.
   */
  lenientQuery?: readonly string[];
  body?: Body;
  /** Whether it takes the header `Idempotency-Key`; the handler sees to what that promises. */
  takesIdempotencyKey?: boolean;
  bodyExample?: unknown;
  /** Headers that the route reads, with an example each; the example request of the documentation has them. */
  headers?: Readonly<Record<string, { description: string; example: string }>>;
  answers: Readonly<Record<number, DocumentedAnswer>>;
  handle(input: RouteInput<z.output<Query>, z.output<Body>>): Promise<Answer>;
}

/** A route whose types are settled, ready to be mounted and described. */
export type Route = RouteSpec<z.ZodType, z.ZodType>;

/** Settles a route's types; nothing happens until it is mounted. */
export function route<Query extends z.ZodType = z.ZodUnknown, Body extends z.ZodType = z.ZodUnknown>(
  spec: RouteSpec<Query, Body>,
): Route {
  return spec as unknown as Route;
}

type ReadBody = (
  request: Request,
  response: Response,
  opaque: OpaqueMembers,
  onBytes?: (bytes: Buffer) => void,
) => Promise<JsonBody>;

/** Whose answers count against which budget. */
export interface AnswerBudget {
  shares: Shares;
  ownerOf(response: Response): string;
}

export interface MountOptions {
  basePath: string;
  /** Run before every route's handler, such as the check of a key. */
  guards?: readonly RequestHandler[];
  /** Reads JSON bodies; a service without it has no route that takes one. */
  readBody?: ReadBody;
  /** Counts answers to GET above 64 KiB until their clients have taken them: a client that never reads holds its answer. */
  answers?: AnswerBudget;
}

/**
 * Mounts routes. A path that has routes but not for the method is answered 405 with `Allow`; a path that has none is left to
 * what comes after. Each has its whole path on the router given: a router of their own below the base path costs a request
 * several microseconds.
 */
export function mountRoutes(router: IRouter, routes: readonly Route[], options: MountOptions): void {
  const { basePath, guards = [] } = options;
  for (const path of new Set(routes.map((each) => each.path))) {
    const atPath = routes.filter((each) => each.path === path);
    const label = `${basePath}${path}`;
    const mounted = router.route(label);
    for (const each of atPath) mounted[each.method](...guards, createHandler(each, label, options));
    const allowed = atPath.flatMap(({ method }) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
    mounted.all(...guards, refuseMethod(allowed, label));
  }
}

/** Answers 405 and names the methods that the path has; `label` is the route's name in metrics. */
export function refuseMethod(allowed: readonly string[], label: string): RequestHandler {
  return (_request, response) => {
    markRoute(response, label);
    throw new AppError("method_not_allowed", { details: { allowed }, headers: { Allow: allowed.join(", ") } });
  };
}

function createHandler(spec: Route, label: string, { readBody, answers }: MountOptions): RequestHandler {
  if (spec.body && !readBody) throw new Error(`${spec.operationId} takes a body, and nothing reads bodies`);
  const readQuery = createQueryReader(spec);
  // Other methods have changed something by now: their answers, which are short, are not refused.
  const budget = spec.method === "get" ? answers : undefined;
  return async (request, response) => {
    markRoute(response, label);
    const query = readQuery(request);
    const claim = spec.takesIdempotencyKey ? readIdempotencyKey(request) : undefined;
    const json = spec.body && readBody ? await readBody(request, response, spec, claim?.addBody) : undefined;
    const body = spec.body ? validate(spec.body, json) : undefined;
    const params = request.params as Record<string, string>;
    const answer = await spec.handle({ params, query, body, idempotency: claim?.take(), request, response });
    return send(response, answer, budget);
  };
}

/** Written by Node's own means: Express's `json` and `send` do the same at several times the cost. */
function send(
  response: Response,
  { status, headers, body, contentType }: Answer,
  budget: AnswerBudget | undefined,
): Promise<void> | undefined {
  // After JSON a terminal's next prompt begins on a line of its own.
  const lineEnd = contentType === undefined ? "\n" : "";
  const isText = typeof body === "string" || !(Symbol.asyncIterator in body);
  const text = isText ? (typeof body === "string" ? body : JSON.stringify(body)) + lineEnd : "";
  const bytes = Buffer.byteLength(text);
  if (budget && bytes > maxUncountedBytes) hold(response, bytes, budget);
  response.statusCode = status;
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Type", withCharset(contentType ?? "application/json"));
  if (headers) for (const name in headers) response.setHeader(name, headers[name] ?? "");
  if (!isText) return sendPieces(response, lineEnd ? endLine(body) : body);
  // The length in a 304 would be that of the text that it spares.
  if (status !== 304) response.setHeader("Content-Length", bytes);
  response.end(text);
  return undefined;
}

/** Answers of up to so many bytes are bounded by the number of requests in hand. */
const maxUncountedBytes = 65_536;

/** Takes an answer's bytes of the budget until the response is closed, or throws the refusal. */
function hold(response: Response, bytes: number, { shares, ownerOf }: AnswerBudget): void {
  if (response.closed) return;
  const owner = ownerOf(response);
  const refusal = shares.take(owner, bytes);
  if (refusal) throw refusal;
  response.once("close", () => shares.give(owner, bytes));
}

function withCharset(contentType: string): string {
  return contentType.includes("charset=") ? contentType : `${contentType}; charset=utf-8`;
}

async function* endLine(pieces: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield* pieces;
  yield "\n";
}

/**
 * Sends each piece when the client has taken the one before; a client that leaves ends it, and is no fault. What fails before
 * the first piece is answered as an error. What fails later cuts the connection, so that no client takes a part for the whole;
 * it is logged unless it was a refusal.
 */
async function sendPieces(response: Response, pieces: AsyncIterable<string>): Promise<void> {
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  try {
    for await (const piece of pieces) {
      if (response.closed) return;
      if (!response.write(piece)) await untilTaken(response);
      if (response.closed) return;
    }
  } catch (error) {
    if (!response.headersSent) throw error;
    response.destroy();
    if (!(error instanceof AppError)) throw error;
    return;
  }
  response.end();
}

function untilTaken(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/**
 * The schema of an error answer with its further members.
 * @param name what descriptions call it; without further members it is `Error`
 */
export function errorSchema(details: z.ZodRawShape = {}, name?: string): z.ZodType {
  const schema = z.object({ error: z.string(), ...details });
  const ownName = name ?? (Object.keys(details).length === 0 ? "Error" : undefined);
  return ownName === undefined ? schema : named(ownName, schema);
}

/** The schema of a 400 that has a message for each field. */
export function validationErrorSchema(): z.ZodType {
  return errorSchema({ fields: z.record(z.string(), z.string()) }, "ValidationError");
}

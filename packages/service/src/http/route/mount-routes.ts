import { isDatabaseUnavailable } from "@waymark/database";
import { AppError, errorHandler, notFoundHandler } from "@waymark/errors";
import type { IRouter, RequestHandler, Response } from "express";
import express, { type Express } from "express";
import { z } from "zod";
import type { JsonLayout } from "../../fields/index.js";
import type { ReadBytes } from "../body/body-bytes.js";
import { type ReadJson, requireMediaType } from "../body/json-body.js";
import { readIdempotencyKey } from "./idempotency-key.js";
import { createListValidator, createQueryReader, validate } from "./read-query.js";
import { markRoute, type RequestContextOptions, requestContext, useErrorSender } from "./request-context.js";
import type { Route } from "./route.js";
import { type AnswerBudget, sendAnswer } from "./send-answer.js";

interface MountOptions<Mounted extends Route = Route> {
  basePath: string;
  /** Run before each handler, and for every other request below the base path: unknown paths and methods need a key, too. */
  guards?: readonly RequestHandler[];
  /** Throws where the request's key is not for the route, before anything else of the request is read. */
  permit?(route: Mounted, response: Response): void;
  readBody?: ReadJson;
  readBytes?: ReadBytes;
  /** Counts answers to GET above 64 KiB until the client has read them: a client not reading holds its answer. */
  answers?: AnswerBudget;
}

/**
 * Mounts routes. A path with routes of other methods is answered 405 with `Allow`; unknown paths are left to the handlers
 * that follow. Each route has its whole path on the given router: a nested router costs a request several microseconds.
 */
export function mountRoutes<Mounted extends Route>(
  router: IRouter,
  routes: readonly Mounted[],
  options: MountOptions<Mounted>,
): void {
  const { basePath, guards = [] } = options;
  const labelOf = (each: Mounted) => (each.basePath ?? basePath) + each.path;
  const labels = new Set(routes.map(labelOf));
  const routesAt = (label: string) => routes.filter((each) => labelOf(each) === label);
  for (const label of labels) {
    const mounted = router.route(label);
    const atLabel = routesAt(label);
    for (const each of atLabel) {
      if (each.sendError) mounted.all(useErrorSender(label, each.sendError));
      mounted[each.method](...guards, createHandler(each, label, options));
    }
    const allowed = atLabel.flatMap(({ method }) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
    // Here, not after all routes: `/spans/batch` must not become the id of a later `/spans/:span_id`.
    const keyed = label.startsWith(`${basePath}/`) ? guards : [];
    mounted.all(...keyed, refuseMethod(allowed, label));
  }
  if (guards.length > 0) router.use(basePath, ...guards);
}

export function refuseMethod(allowed: readonly string[], label: string): RequestHandler {
  return (_request, response) => {
    markRoute(response, label);
    throw new AppError("method_not_allowed", { details: { allowed }, headers: { Allow: allowed.join(", ") } });
  };
}

function createHandler<Mounted extends Route>(
  spec: Mounted,
  label: string,
  options: MountOptions<Mounted>,
): RequestHandler {
  const { permit, readBody, readBytes, answers } = options;
  const schema = spec.body instanceof z.ZodType ? spec.body : undefined;
  const mediaTypes = schema || !spec.body ? undefined : Object.keys(spec.body);
  if ((schema && !readBody) || (mediaTypes && !readBytes)) {
    throw new Error(`${spec.operationId} takes a body, and nothing reads bodies`);
  }
  const readQuery = createQueryReader(spec);
  const layout = layoutOf(spec);
  const validateList =
    spec.opaqueElements && schema instanceof z.ZodObject
      ? createListValidator(schema, spec.opaqueElements.list)
      : undefined;
  // A request of another method has changed something: its answer, a short one, is not refused.
  const budget = spec.method === "get" ? answers : undefined;
  return async (request, response) => {
    markRoute(response, label);
    permit?.(spec, response);
    const query = readQuery(request);
    const claim = spec.takesIdempotencyKey ? readIdempotencyKey(request) : undefined;
    let body: unknown;
    if (schema && readBody) {
      const given = await readBody(request, response, layout, claim?.addBody);
      body = validateList ? await validateList(given) : (spec.readUsual?.(given) ?? validate(schema, given));
    } else if (mediaTypes && readBytes) {
      const mediaType = requireMediaType(request, mediaTypes);
      body = { mediaType, bytes: await readBytes(request, response) };
    }
    const params = request.params as Record<string, string>;
    const answer = await spec.handle({ params, query, body, idempotency: claim?.take(), request, response });
    return sendAnswer(response, answer, budget);
  };
}

/** What a route reads of a body. With opaque members the others are no arrays or objects. */
function layoutOf({ body, opaqueKeys, opaqueElements }: Route): JsonLayout {
  if (!opaqueKeys && !opaqueElements) return {};
  const layout = { keys: knownKeys(body), opaqueKeys };
  if (!opaqueElements) return layout;
  const { list: name, keys, most } = opaqueElements;
  const list = body instanceof z.ZodObject ? body.shape[name] : undefined;
  const element = list instanceof z.ZodArray ? list.element : undefined;
  return { ...layout, list: { name, most, keys: knownKeys(element), opaqueKeys: keys } };
}

/** The keys of an object that may have others, and drops them. */
function knownKeys(schema: unknown): readonly string[] | undefined {
  return schema instanceof z.ZodObject && !schema.def.catchall ? Object.keys(schema.shape) : undefined;
}

/** Makes a service's app: each request gets its context, what no route takes is answered 404, and each error is one of ours. */
export function createExpress(options: RequestContextOptions, mount: (app: Express) => void): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(requestContext(options));
  mount(app);
  app.use(notFoundHandler);
  app.use(errorHandler({ isUnavailable: isDatabaseUnavailable, log: options.log }));
  return app;
}

import { setImmediate } from "node:timers/promises";
import { principalOf } from "@waymark/auth";
import { isDatabaseUnavailable } from "@waymark/database";
import { AppError, errorHandler, validationError } from "@waymark/errors";
import { markRoute, parseJsonBody, type ReadBytes, refuseMethod } from "@waymark/http";
import {
  loadOtlpMessages,
  MalformedRequest,
  type MappedRequest,
  mapRequest,
  type OtlpForm,
  type OtlpMessages,
  readJson,
  readProtobuf,
  writeStatus,
  writeSuccess,
} from "@waymark/otlp";
import { planOf, upgradePath, utcMonth } from "@waymark/plan";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Logger } from "pino";
import { maxSpansPerTrace, traceFull } from "../spans/trace-capacity.js";
import { agentLimitError, quotaHeaders, type TraceQuota, traceLimitError } from "../usage/trace-quota.js";
import { maxContextsPerTrace } from "./add-spans.query.js";
import { otlpPath } from "./otlp.api.js";
import { createSpansStore, type StoreSpansDeps, type StoreSpansResult } from "./store-spans.js";

const contentTypes = { protobuf: "application/x-protobuf", json: "application/json" } as const;

/** How deeply the JSON of a request may nest: the four levels of a list in a list, 200 times, and what is around it. */
const maxJsonDepth = 820;

export interface OtlpDeps extends StoreSpansDeps {
  /** Run before the handler: the check of the key, and the limits of a key's requests. */
  guards: readonly RequestHandler[];
  readBytes: ReadBytes;
  log: Logger;
  now(): Date;
}

/** `POST /v1/traces`: takes spans from OpenTelemetry exporters, as OTLP over HTTP in protobuf or JSON (OTLP 1.x). */
export function otlpRouter(deps: OtlpDeps): Router {
  const { guards, readBytes, log, now } = deps;
  const messages = loadOtlpMessages();
  const store = createSpansStore(deps);
  const router = Router();
  const mounted = router.route(otlpPath);
  mounted.all((_request, response, next) => {
    markRoute(response, otlpPath);
    next();
  });
  mounted.post(...guards, async (request, response) => {
    const form = requireForm(request);
    const mapped = await readSpans(messages, form, await readBytes(request, response));
    const { accountId, plan: planId } = principalOf(response);
    const plan = planOf(planId);
    const month = utcMonth(now());
    const stored = await store({ accountId, plan, month: month.firstDay }, mapped.spans);
    const quota = { plan, month, used: stored.used ?? 0 };
    const partial = judge(mapped, stored, quota);
    response.set({ ...(stored.used !== undefined && quotaHeaders(quota)), "Cache-Control": "no-store" });
    send(response, 200, form, writeSuccess(messages, form, partial));
  });
  mounted.all(refuseMethod(["POST"], otlpPath));
  router.use(otlpPath, errorHandler({ isUnavailable: isDatabaseUnavailable, log, send: sendError }));
  return router;
}

/** The largest request takes some tenths of a second: small ones of others come in between. */
async function readSpans(messages: OtlpMessages, form: OtlpForm, body: Buffer): Promise<MappedRequest> {
  try {
    const request = form === "protobuf" ? readProtobuf(messages, body) : readJson(parseJsonBody(body, maxJsonDepth));
    const mapping = mapRequest(request);
    for (let piece = mapping.next(); ; piece = mapping.next()) {
      if (piece.done) return piece.value;
      await setImmediate();
    }
  } catch (error) {
    throw error instanceof MalformedRequest ? validationError({ body: error.message }, error.cause) : error;
  }
}

/**
 * The part of a success that tells of refused spans.
 * @throws AppError where nothing was stored: 400 if all spans are invalid or too large, else for the limit that refused the others
 */
function judge({ spans, refused: unfit }: MappedRequest, { refused }: StoreSpansResult, quota: TraceQuota) {
  const reasons = [...unfit].map(([problem, count]) => `${count} invalid: ${problem}`);
  const invalid = [...unfit.values()].reduce((sum, count) => sum + count, 0);
  if (invalid > 0 && spans.length === 0) {
    throw validationError({ body: `No span is valid: ${[...unfit.keys()].join("; ")}` });
  }
  if (refused.context_limit > 0) {
    const problem = `a trace must not have more than ${maxContextsPerTrace} resources and scopes`;
    if (refused.context_limit === spans.length) throw validationError({ body: `No span is valid: ${problem}` });
    reasons.unshift(`${refused.context_limit} invalid: ${problem}`);
  }
  if (refused.span_limit > 0) {
    if (refused.span_limit === spans.length) throw traceFull();
    reasons.unshift(`${refused.span_limit} of traces that have ${maxSpansPerTrace} spans already`);
  }
  const overLimits = refused.agent_limit + refused.trace_limit;
  if (overLimits > 0 && overLimits === spans.length) {
    throw refused.trace_limit > 0 ? traceLimitError(quota) : agentLimitError(quota);
  }
  if (refused.agent_limit > 0) {
    reasons.unshift(
      `${refused.agent_limit} of further agents: Free plan limited to 1 agent; upgrade at ${upgradePath}`,
    );
  }
  if (refused.trace_limit > 0) {
    const limit = `the limit of ${quota.plan.tracesPerMonth} traces a month`;
    reasons.unshift(`${refused.trace_limit} over ${limit}; upgrade at ${upgradePath}`);
  }
  if (reasons.length === 0) return undefined;
  const errorMessage = `Spans were refused: ${reasons.join("; ")}`;
  return { rejectedSpans: overLimits + refused.span_limit + refused.context_limit + invalid, errorMessage };
}

function formOf(request: Request): OtlpForm | undefined {
  const type = (request.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === contentTypes.json) return "json";
  return type === contentTypes.protobuf ? "protobuf" : undefined;
}

function requireForm(request: Request): OtlpForm {
  const form = formOf(request);
  if (form) return form;
  const allowed = Object.values(contentTypes);
  throw new AppError("unsupported_media_type", { details: { allowed }, headers: { Accept: allowed.join(", ") } });
}

/** The `google.rpc.Code` that stands for a status of HTTP. */
const rpcCodes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  405: 12,
  413: 3,
  415: 3,
  429: 8,
  503: 14,
};
const rpcInternal = 13;

/** Errors are `google.rpc.Status` in the request's form; its JSON has the members of all our errors besides. */
function sendError(response: Response, { status, body, headers, message }: AppError): void {
  const form = formOf(response.req) ?? "json";
  response.set({ ...headers, "Cache-Control": "no-store" });
  const { fields } = body as { fields?: Record<string, string> };
  const text = fields ? Object.values(fields).join("; ") : message;
  send(response, status, form, writeStatus(form, rpcCodes[status] ?? rpcInternal, text, body));
}

function send(response: Response, status: number, form: OtlpForm, body: Buffer): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentTypes[form]);
  response.setHeader("Content-Length", body.length);
  response.end(body);
}

import { randomUUID } from "node:crypto";
import type { SendError } from "@waymark/errors";
import type { RequestHandler, Response } from "express";
import { type DestinationStream, type Logger, pino } from "pino";
import { Counter, Histogram, type Registry } from "prom-client";

interface AccessEntry {
  /** Of the safe characters of request ids. */
  requestId: string;
  method: string;
  /** Without the query. */
  path: string;
  status: number;
  ms: number;
  caller?: Caller | undefined;
}

/** Whose request it is: ids, never a key. */
interface Caller {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}

interface Internals {
  [pino.symbols.streamSym]?: DestinationStream;
  [pino.symbols.chindingsSym]?: string;
}

/** Writes `log.info(entry, "request")` at less than half the cost: every request has one. It has nothing to redact. */
export function createAccessLog(log: Logger): (entry: AccessEntry) => void {
  const { [pino.symbols.streamSym]: stream, [pino.symbols.chindingsSym]: bindings = "" } = log as Internals;
  if (!stream || !log.isLevelEnabled("info")) return () => undefined;
  let [millis, time] = [Number.NaN, ""];
  return ({ requestId, method, path, status, ms, caller }) => {
    const now = Date.now();
    if (now !== millis) [millis, time] = [now, new Date(now).toISOString()];
    const of = caller ? `,"accountId":"${caller.accountId}"${caller.keyId ? `,"keyId":"${caller.keyId}"` : ""}` : "";
    stream.write(
      `{"level":"info","time":"${time}"${bindings},"requestId":"${requestId}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${Math.round(ms * 100) / 100}${of},"msg":"request"}\n`,
    );
  };
}

class RequestLocals {
  /** The path pattern of the matched route, for metrics: labels must not grow with clients' paths. */
  route?: string;
  /** For the log of a held event loop. */
  endedAt?: number;
  sendError?: SendError;
  caller?: Caller;
  private ownLog?: Logger;

  constructor(
    readonly requestId: string,
    private readonly baseLog: Logger,
  ) {}

  /** Made on first use: most requests log only their access log line. */
  get log(): Logger {
    this.ownLog ??= this.baseLog.child({ requestId: this.requestId });
    return this.ownLog;
  }
}

/** The safe request ids of clients and proxies: the id goes into headers and logs. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

export interface RequestContextOptions {
  log: Logger;
  registry: Registry;
  /** The path as the access log shows it, for paths with secrets. */
  logPath?(path: string): string;
}

/**
 * Gives each request an id (`X-Request-Id`, the client's if it sent one), a logger with that id, an access log line after
 * the answer, and metrics. The log leaves out queries: they may hold private data.
 */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const observe = createObserver(options.registry);
  const logAccess = createAccessLog(options.log);
  return (request, response, next) => {
    const startedAt = performance.now();
    const given = request.headers["x-request-id"];
    const requestId = typeof given === "string" && requestIdPattern.test(given) ? given : randomUUID();
    const locals = new RequestLocals(requestId, options.log);
    response.locals = locals as unknown as Record<string, unknown>;
    response.setHeader("X-Request-Id", requestId);
    const path = options.logPath?.(request.path) ?? request.path;
    response.once("close", () => {
      locals.endedAt = performance.now();
      const ms = locals.endedAt - startedAt;
      const status = response.writableFinished ? response.statusCode : 499;
      observe(request.method, locals.route ?? "(none)", status, ms / 1000);
      logAccess({ requestId, method: request.method, path, status, ms, caller: locals.caller });
    });
    next();
  };
}

export function markRoute(response: Response, route: string): void {
  (response.locals as Partial<RequestLocals>).route = route;
}

/** Makes `errorHandler` send a route's errors its own way; runs before the guards, whose errors count. */
export function useErrorSender(route: string, sendError: SendError): RequestHandler {
  return (_request, response, next) => {
    markRoute(response, route);
    (response.locals as Partial<RequestLocals>).sendError = sendError;
    next();
  };
}

function createObserver(registry: Registry) {
  const labelNames = ["method", "route", "status"] as const;
  const requests = new Counter({
    name: "waymark_http_requests_total",
    help: "Requests answered; status 499 is a client that left before the answer",
    labelNames,
    registers: [registry],
  });
  const durations = new Histogram({
    name: "waymark_http_request_duration_seconds",
    help: "Seconds from the request's head to the end of its answer",
    labelNames: ["route"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  // Without labels its series begins at 0, so an alert rule sees the first error of a route too.
  const errors = new Counter({
    name: "waymark_http_errors_total",
    help: "Requests answered with an error of our own: status 500 and above, without 503",
    registers: [registry],
  });
  // Finding a label's child costs more than counting.
  const counters = new Map<string, Counter.Internal>();
  const histograms = new Map<string, Histogram.Internal<"route">>();
  return (given: string, route: string, status: number, seconds: number) => {
    const method = knownMethods.has(given) ? given : "(other)";
    if (status >= 500 && status !== 503) errors.inc();
    obtain(counters, `${method} ${status} ${route}`, () => requests.labels({ method, route, status })).inc();
    obtain(histograms, route, () => durations.labels({ route })).observe(seconds);
  };
}

function obtain<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = make();
  map.set(key, made);
  return made;
}

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

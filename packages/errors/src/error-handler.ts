import { isNativeError } from "node:util/types";
import type { ErrorRequestHandler, RequestHandler, Response } from "express";
import type { Logger } from "pino";
import { AppError, validationError } from "./app-error.js";

/** Seconds before a client may try again when a store is down: longer than a pool takes to reconnect. */
const retryAfterSeconds = 2;

export interface ErrorHandlerOptions {
  /** Distinguishes an unreachable store (503) from a bug (500). */
  isUnavailable(error: unknown): boolean;
  log: Logger;
}

/** Sends an error. A route with its own error format puts one into `response.locals.sendError`. */
export type SendError = (response: Response, error: AppError) => void;

/** Answers every error, with the body `{"error": string, …}`. */
export function errorHandler(options: ErrorHandlerOptions): ErrorRequestHandler {
  const logOutage = createOutageLog(options.log);
  return (thrown: unknown, _request, response, next) => {
    const error = toAppError(thrown, options);
    // Load above a limit is no fault: a metric counts it, and the access log has its status.
    if (error.status >= 500 && error.code !== "busy") {
      const log: Logger = response.locals["log"] ?? options.log;
      if (error.code === "unavailable") logOutage(error, log);
      else log.error({ err: error.cause ?? error }, error.message);
    }
    if (response.headersSent) {
      next(thrown);
      return;
    }
    const send: SendError = response.locals["sendError"] ?? sendError;
    send(response, error);
  };
}

/** How often the log reports the failed requests of an outage. */
const outageIntervalMs = 1_000;

/**
 * Logs the first failed request of a store's outage with its cause, then only the number of further ones: a line with a
 * stack for each would cost more than the requests. After a second without a failure the next one is the first again.
 */
function createOutageLog(log: Logger): (error: AppError, requestLog: Logger) => void {
  let more = 0;
  let latest: unknown;
  let timer: NodeJS.Timeout | undefined;
  const report = () => {
    if (more === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const reason = latest instanceof Error ? latest.message : String(latest);
    log.error({ requests: more, reason }, "Service temporarily unavailable for more requests");
    more = 0;
  };
  return (error, requestLog) => {
    latest = error.cause ?? error;
    if (timer) {
      more++;
      return;
    }
    requestLog.error({ err: latest }, error.message);
    timer = setInterval(report, outageIntervalMs).unref();
  };
}

export const notFoundHandler: RequestHandler = () => {
  throw new AppError("not_found");
};

function sendError(response: Response, error: AppError): void {
  response
    .status(error.status)
    .set({ ...error.headers, "Content-Type": "application/json; charset=utf-8" })
    .send(`${JSON.stringify(error.body)}\n`);
}

function toAppError(thrown: unknown, options: ErrorHandlerOptions): AppError {
  if (thrown instanceof AppError) return thrown;
  const known = fromHttpError(thrown);
  if (known) return known;
  if (options.isUnavailable(thrown)) {
    return new AppError("unavailable", { headers: { "Retry-After": String(retryAfterSeconds) }, cause: thrown });
  }
  return new AppError("internal", { cause: thrown });
}

/** Express's errors about a request have a `status` and mostly a `type`. */
function fromHttpError(thrown: unknown): AppError | undefined {
  if (!isNativeError(thrown)) return undefined;
  const { status, type, limit } = thrown as { status?: unknown; type?: unknown; limit?: unknown };
  if (type === "entity.too.large") return new AppError("body_too_large", { details: { limit_bytes: limit } });
  if (type === "encoding.unsupported") {
    return new AppError("unsupported_media_type", { details: { allowed: ["identity", "gzip", "deflate", "br"] } });
  }
  if (thrown.name === "URIError") {
    return validationError({ path: "The path holds a percent sign that does not start a UTF-8 escape" }, thrown);
  }
  if (typeof status === "number" && status >= 400 && status < 500) {
    return validationError(
      { body: "The body could not be read: it is cut off or not in its Content-Encoding" },
      thrown,
    );
  }
  return undefined;
}

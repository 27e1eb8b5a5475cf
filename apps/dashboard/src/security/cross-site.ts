import { AppError } from "@waymark/errors";
import { mediaTypeOf } from "@waymark/service/http";
import type { RequestHandler } from "express";

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses unsafe requests from other sites with 403, before their bodies are read. A browser names the site in
 * `Sec-Fetch-Site`; without that header `Origin` must be the dashboard's. Only JSON is taken: a form of any site can send
 * other bodies without asking first.
 */
export function refuseCrossSite(url: URL): RequestHandler {
  return (request, _response, next) => {
    if (safeMethods.has(request.method)) return next();
    const site = request.headers["sec-fetch-site"];
    const isOwn = site === undefined ? request.headers.origin === url.origin : site === "same-origin";
    const { "content-type": type, "content-length": length, "transfer-encoding": coding } = request.headers;
    const hasBody = type !== undefined || coding !== undefined || (length !== undefined && length !== "0");
    const isJson = mediaTypeOf(request) === "application/json";
    if (!isOwn || (hasBody && !isJson)) throw new AppError("cross_site");
    next();
  };
}

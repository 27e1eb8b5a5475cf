import { AppError } from "@waymark/errors";
import type { RequestHandler } from "express";

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses unsafe requests from other sites with 403, before their bodies are read. A browser names the site in
 * `Sec-Fetch-Site`; without that header `Origin` must be the dashboard's.
 */
export function refuseCrossSite(url: URL): RequestHandler {
  return (request, _response, next) => {
    if (safeMethods.has(request.method)) return next();
    const site = request.headers["sec-fetch-site"];
    const isOwn = site === undefined ? request.headers.origin === url.origin : site === "same-origin";
    if (!isOwn) throw new AppError("cross_site");
    next();
  };
}

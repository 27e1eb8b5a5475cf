import { AppError } from "@waymark/errors";
import { mediaTypeOf } from "@waymark/service/http";
import type { RequestHandler } from "express";

const policyFor = (frameAncestors: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${frameAncestors}`,
    "require-trusted-types-for 'script'",
  ].join("; ");

const policy = policyFor("'none'");

/** The policy of a page that pages of other origins may frame. */
export const frameableBy = (origins: readonly string[]) => policyFor(origins.join(" "));

/** Headers of every answer: no foreign script, no frame, no request to another origin. */
export function securityHeaders(url: URL): RequestHandler {
  const headers = new Map([
    ["Content-Security-Policy", policy],
    ["X-Content-Type-Options", "nosniff"],
    ["Referrer-Policy", "same-origin"],
    ["Cross-Origin-Opener-Policy", "same-origin"],
    ["Cross-Origin-Resource-Policy", "same-origin"],
    // Errors, too, may be kept by caches (RFC 9110, 15.1). Pages and their files have rules of their own.
    ["Cache-Control", "no-store"],
  ]);
  if (url.protocol === "https:") headers.set("Strict-Transport-Security", "max-age=31536000");
  return (_request, response, next) => {
    response.setHeaders(headers);
    next();
  };
}

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

import type { RequestHandler } from "express";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

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

import type { RequestHandler } from "express";

/** A browser may keep the answer to a preflight so long; Chromium keeps none longer than two hours. */
const maxAgeSeconds = 7_200;

/** Lets pages of any site post and read answers, and answers their preflights (Fetch standard, "CORS protocol"). */
export const allowAnyOrigin: RequestHandler = (request, response, next) => {
  response.set({
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "X-Waymark-Dropped, X-Request-Id",
    // Pages that isolate themselves load only resources with this header.
    "Cross-Origin-Resource-Policy": "cross-origin",
  });
  if (request.method !== "OPTIONS") {
    next();
    return;
  }
  response.set({
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": String(maxAgeSeconds),
  });
  response.status(204).end();
};

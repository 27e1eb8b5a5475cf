import { hash } from "node:crypto";
import { type Route, route } from "@waymark/http";
import { z } from "zod";

/** A browser asks again after so long, so a new version reaches every visitor. */
const maxAgeSeconds = 3_600;

/** Serves the tracker; 304 by its `ETag`. */
export function getScriptRoute({ script }: { script: string }): Route {
  const etag = `"${hash("sha256", script, "base64url").slice(0, 22)}"`;
  const headers = {
    "Cache-Control": `public, max-age=${maxAgeSeconds}`,
    ETag: etag,
    "X-Content-Type-Options": "nosniff",
  };
  return route({
    method: "get",
    path: "/js/script.js",
    operationId: "getScript",
    summary: "The tracker that pages load",
    description: "Takes `data-domain` and `data-api` from its own tag. It sets no cookie and stores nothing.",
    // Pages may add a version to get around a cache.
    lenientQuery: [],
    answers: {
      200: {
        description: "JavaScript, to be kept for an hour",
        schema: z.string(),
        contentType: "text/javascript",
        headers: ["ETag"],
      },
    },
    async handle({ request }) {
      // A compressing proxy weakens the tag: `W/"…"` (RFC 9110, 8.8.3).
      const isKnown = request.headers["if-none-match"]?.includes(etag) === true;
      return { status: isKnown ? 304 : 200, headers, contentType: "text/javascript", body: isKnown ? "" : script };
    },
  });
}

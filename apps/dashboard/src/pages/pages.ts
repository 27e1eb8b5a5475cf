import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { markRoute, refuseMethod } from "@waymark/http";
import { type Request, type Response, Router } from "express";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

interface File {
  type: string;
  etag: string;
  bodies: Readonly<Record<"br" | "gzip" | "identity", Buffer>>;
}

/** The built browser half, by path below the folder. */
export type Pages = ReadonlyMap<string, File>;

/** Reads and compresses the built files once: some 200 KB, held in memory. */
export function readPages(folder: URL): Pages {
  const root = fileURLToPath(folder);
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  const served = names.filter((name) => extname(name) in types);
  return new Map(served.map((name) => [name, readOne(join(root, name))]));
}

function readOne(path: string): File {
  const identity = readFileSync(path);
  const etag = `"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`;
  const bodies = { identity, gzip: gzipSync(identity), br: brotliCompressSync(identity) };
  return { type: types[extname(path)] ?? "", etag, bodies };
}

/**
 * Serves the browser's half. Names of assets contain their hash, so browsers keep them for a year; every other path below
 * `/dashboard` is the one page.
 */
export function pageRoutes(pages: Pages): Router {
  const router = Router();
  const readOnly = refuseMethod(["GET", "HEAD"], "/dashboard");
  router.route("/").get((_request, response) => response.redirect("/dashboard/"));
  router
    .route("/dashboard/assets/:name")
    .get((request, response, next) => {
      const file = pages.get(`assets/${request.params.name}`);
      if (!file) return next();
      markRoute(response, "/dashboard/assets/:name");
      send(request, response, file, "public, max-age=31536000, immutable");
    })
    .all((request, response, next) => (request.method === "GET" ? next() : readOnly(request, response, next)));
  router.get("/dashboard/{*path}", (request, response, next) => {
    const file = pages.get("index.html");
    if (!file || request.path.startsWith("/dashboard/assets/")) return next();
    markRoute(response, "/dashboard/*");
    send(request, response, file, "no-cache");
  });
  return router;
}

function send(request: Request, response: Response, { type, etag, bodies }: File, cacheControl: string): void {
  response.setHeader("Content-Type", type);
  response.setHeader("Cache-Control", cacheControl);
  response.setHeader("ETag", etag);
  response.vary("Accept-Encoding");
  if (request.headers["if-none-match"] === etag) {
    response.status(304).end();
    return;
  }
  const encoding = request.acceptsEncodings("br", "gzip", "identity") || "identity";
  const body = bodies[encoding as keyof File["bodies"]] ?? bodies.identity;
  if (encoding !== "identity") response.setHeader("Content-Encoding", encoding);
  response.setHeader("Content-Length", body.length);
  response.end(body);
}

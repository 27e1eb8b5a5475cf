import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { markRoute, refuseMethod } from "@waymark/service/http";
import { type Request, type Response, Router } from "express";
import { findPagePart } from "./page-parts.js";

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

/** Vite's manifest: the built file of each source, and the sources that it imports at once. */
type Manifest = Readonly<
  Record<string, { file: string; imports?: readonly string[]; isEntry?: boolean; isDynamicEntry?: boolean }>
>;

export interface Pages {
  files: ReadonlyMap<string, File>;
  manifest: Manifest;
}

/** Reads and compresses the built files once: some 300 KB, held in memory. */
export function readPages(folder: URL): Pages {
  const root = fileURLToPath(folder);
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  const served = names.filter((name) => extname(name) in types);
  const files = new Map(served.map((name) => [name, readOne(join(root, name))]));
  const manifest: Manifest = JSON.parse(readFileSync(join(root, ".vite/manifest.json"), "utf8"));
  return { files, manifest };
}

function readOne(path: string): File {
  const identity = readFileSync(path);
  // Weak, since it stands for all encodings.
  const etag = `W/"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`;
  // The highest quality, 11, takes ten times as long at each start, for 6 % less.
  const br = brotliCompressSync(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
  const bodies = { identity, gzip: gzipSync(identity), br };
  return { type: types[extname(path)] ?? "", etag, bodies };
}

/**
 * Serves the browser's half. Names of assets contain their hash, so browsers keep them for a year; every other path below
 * `/dashboard` is the one page.
 */
export function pageRoutes({ files, manifest }: Pages): Router {
  const router = Router();
  const readOnly = refuseMethod(["GET", "HEAD"], "/dashboard");
  router.route("/").get((_request, response) => response.redirect("/dashboard/"));
  router
    .route("/dashboard/assets/:name")
    .get((request, response, next) => {
      const file = files.get(`assets/${request.params.name}`);
      if (!file) return next();
      markRoute(response, "/dashboard/assets/:name");
      send(request, response, file, "public, max-age=31536000, immutable");
    })
    .all((request, response, next) =>
      /^(GET|HEAD)$/.test(request.method) ? next() : readOnly(request, response, next),
    );
  router.get("/dashboard{/*path}", (request, response, next) => {
    const file = files.get("index.html");
    if (!file || /^\/dashboard\/(?:assets|api)(?:\/|$)/.test(request.path)) return next();
    markRoute(response, "/dashboard/*");
    const links = preloads(request, manifest);
    if (links.length > 0) response.setHeader("Link", links.join(", "));
    send(request, response, file, "no-cache");
  });
  return router;
}

/** What the asked page needs next: the browser loads it beside the main script instead of after. */
function preloads(request: Request, manifest: Manifest): string[] {
  const part = findPagePart(request.path);
  if (!part) return [];
  const isPlain = Object.keys(request.query).length === 0;
  const scripts = filesOf(part.source, manifest).map((file) => `</dashboard/${file}>; rel=modulepreload`);
  // `crossorigin` makes it the request that fetch() sends; another one would be sent twice.
  const data = part.data.map((path) => `</dashboard/api${path}>; rel=preload; as=fetch; crossorigin`);
  return isPlain ? [...scripts, ...data] : scripts;
}

function filesOf(source: string, manifest: Manifest, seen = new Set<string>()): string[] {
  const built = manifest[source];
  if (!built || built.isEntry || seen.has(source)) return [];
  seen.add(source);
  return [built.file, ...(built.imports ?? []).flatMap((imported) => filesOf(imported, manifest, seen))];
}

function send(request: Request, response: Response, { type, etag, bodies }: File, cacheControl: string): void {
  response.set({ "Content-Type": type, "Cache-Control": cacheControl, ETag: etag });
  response.vary("Accept-Encoding");
  // One by one, since browsers list gzip before br with the same weight.
  const encoding = (["br", "gzip"] as const).find((name) => request.acceptsEncodings(name)) ?? "identity";
  if (encoding !== "identity") response.setHeader("Content-Encoding", encoding);
  response.send(bodies[encoding]);
}

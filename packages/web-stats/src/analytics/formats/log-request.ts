import type { Reading } from "./format.js";

/** A request as a web server's log tells it. */
export interface LogRequest {
  /** ISO 8601 with `Z` or an offset. */
  readonly ts: string;
  readonly ip: string | null;
  readonly method: string;
  /** The path with its query, or an absolute URL. */
  readonly target: string;
  readonly status: number;
  /** Where the log names the host: `https://example.com`. */
  readonly origin?: string | undefined;
  readonly referrer: string | null;
  readonly userAgent: string | null;
}

/** The endings of files that belong to a page, or are none. */
const assetEndings = new Set(
  (
    "css js mjs map png jpg jpeg gif svg ico webp avif woff woff2 ttf eot otf mp4 webm mp3 pdf zip gz xml txt json rss atom " +
    "wasm"
  ).split(" "),
);

/** A page view is a GET with status 200 to 299 or 304 of a path without the ending of an asset. */
export function readRequest(request: LogRequest): Reading {
  const { ts, ip, method, target, status, referrer, userAgent } = request;
  if (method !== "GET") return { leftOut: "method" };
  if ((status < 200 || status > 299) && status !== 304) return { leftOut: "status" };
  if (isAsset(target)) return { leftOut: "asset" };
  if (!/^(\/|https?:\/\/)/i.test(target)) return { problem: "The request must name a path that starts with a slash" };
  return { fields: { ts, ip: ip && plainAddress(ip), referrer, user_agent: userAgent, ...locationOf(request) } };
}

/** A `-` stands for nothing in most logs. */
export function presentText(text: string | undefined): string | null {
  return text === undefined || text === "-" || text === "" ? null : text;
}

/** An IPv4 address in IPv6 form as the collector sees it: the same visitor. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, "");
}

function isAsset(target: string): boolean {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const dot = path.lastIndexOf(".");
  return dot > path.lastIndexOf("/") && assetEndings.has(path.slice(dot + 1).toLowerCase());
}

/** A host that makes no URL is left out: it must not cost the page view. */
function locationOf({ target, origin }: LogRequest): { url: string } | { path: string } {
  if (!target.startsWith("/")) return { url: target };
  return origin !== undefined && URL.canParse(origin + target) ? { url: origin + target } : { path: target };
}

import { Buffer } from "node:buffer";
import type { LeftOut, LineReader, Reading } from "./format.js";

interface LogRequest {
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

const assetEndings = new Set(
  (
    "css js mjs map png jpg jpeg gif svg ico webp avif woff woff2 ttf eot otf mp4 webm mp3 pdf zip gz xml txt json rss atom " +
    "wasm"
  ).split(" "),
);

/** A page view is a GET with status 200 to 299 or 304 of a path without the ending of an asset. */
function readRequest(request: LogRequest): Reading {
  const { ts, ip, target, status, referrer, userAgent } = request;
  const leftOut = reasonOf(request);
  if (!leftOut && !/^(\/|https?:\/\/)/i.test(target)) {
    return { problem: "The request must name a path that starts with a slash" };
  }
  const fields = { ts, ip: ip && plainAddress(ip), referrer, user_agent: userAgent, ...locationOf(request) };
  return { fields, status, ...(leftOut && { leftOut }) };
}

function reasonOf({ method, status, target }: LogRequest): LeftOut | undefined {
  if (method !== "GET") return "method";
  if ((status < 200 || status > 299) && status !== 304) return "status";
  return isAsset(target) ? "asset" : undefined;
}

function presentText(text: string | undefined): string | null {
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

/** Quoted text, in which a backslash escapes the next character. It repeats in one way only, so no line takes long. */
const quoted = String.raw`"([^"\\]*(?:\\.[^"\\]*)*)"`;

/** Address, identity, user, time, request, status and bytes, as Apache's `common`; a user's name may contain spaces. */
const common = String.raw`^(\S+) \S+ .*?\[(\d{2})/(\w{3})/(\d{4}):(\d{2}:\d{2}:\d{2}) ([+-]\d{4})\] ${quoted} (\d{3}) (?:\d+|-)`;

const commonPattern = new RegExp(`${common}(?: |$)`);
/** Referrer and browser follow; a server may add more. */
const combinedPattern = new RegExp(`${common} ${quoted} ${quoted}`);

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const combinedProblem =
  'Must have the combined form: ADDRESS - USER [17/May/2026:10:05:03 +0000] "GET /path HTTP/1.1" 200 BYTES "REFERRER" "BROWSER"';
const commonProblem =
  'Must have the common form: ADDRESS - USER [17/May/2026:10:05:03 +0000] "GET /path HTTP/1.1" 200 BYTES';

export const readCombinedLine: LineReader = (text) => readLine(combinedPattern.exec(text), combinedProblem);

/** Lines of Apache's `common`, and the start of longer ones. They name no browser. */
export const readCommonLine: LineReader = (text) => readLine(commonPattern.exec(text), commonProblem);

function readLine(match: RegExpExecArray | null, problem: string): Reading {
  if (!match) return { problem };
  const [, address, day, monthName = "", year, time, offset, request = "", status, referrer, userAgent] = match;
  const month = months.indexOf(monthName) + 1;
  if (month === 0) return { problem: `Must have one of these months: ${months.join(" ")}` };
  const [method, target] = splitRequest(readEscapes(request));
  return readRequest({
    ts: `${year}-${String(month).padStart(2, "0")}-${day}T${time}${offset}`,
    ip: presentText(address),
    method,
    target,
    status: Number(status),
    referrer: presentText(referrer && readEscapes(referrer)),
    userAgent: presentText(userAgent && readEscapes(userAgent)),
  });
}

/** Method and target of `GET /path HTTP/1.1`; a client without manners leaves spaces in its target. */
function splitRequest(request: string): [method: string, target: string] {
  const space = request.indexOf(" ");
  if (space < 0) return [request, ""];
  return [request.slice(0, space), request.slice(space + 1).replace(/ HTTP\/[\d.]+$/, "")];
}

const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", v: "\v", f: "\f" };

/** nginx writes bytes as `\xHH`, Apache also as C does. Other backslashes stay, as of servers that escape nothing. */
function readEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/(?:\\x[\dA-Fa-f]{2})+|\\(["\\nrtbvf])/g, (escaped, character?: string) =>
    character === undefined
      ? Buffer.from(escaped.replaceAll("\\x", ""), "hex").toString("utf8")
      : (controls[character] ?? character),
  );
}

/** The first fields of every standard log, for a file whose `#Fields` line is missing. */
const usualFields =
  "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query " +
  "cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol";

const problem =
  "Must be a line of CloudFront's standard log: fields between tabs, by the #Fields line, with date, time, cs-method, cs-uri-stem and sc-status";

/** Lines of CloudFront's standard log. Each file begins with the names of its fields, also behind another one. */
export function openCloudFrontLog(): LineReader {
  let positions = readFields(usualFields);
  return (text) => {
    if (text.startsWith("#")) {
      if (text.startsWith("#Fields:")) positions = readFields(text.slice("#Fields:".length));
      return null;
    }
    const values = text.split("\t");
    const field = (name: string): string | undefined => values[positions.get(name) ?? values.length]?.trim();
    const [date, time, method, path, status] = ["date", "time", "cs-method", "cs-uri-stem", "sc-status"].map(field);
    if (!date || !time || !method || !path || status === undefined || !/^\d{1,3}$/.test(status)) return { problem };
    const host = presentText(field("x-host-header")) ?? presentText(field("cs(Host)"));
    const query = presentText(field("cs-uri-query"));
    const userAgent = presentText(field("cs(User-Agent)"));
    const referrer = presentText(field("cs(Referer)"));
    return readRequest({
      ts: `${date}T${time}Z`,
      ip: presentText(field("c-ip")),
      method,
      target: asSent(query === null ? path : `${path}?${query}`),
      status: Number(status),
      origin: host === null ? undefined : `${field("cs-protocol") === "http" ? "http" : "https"}://${host}`,
      referrer: referrer && asSent(referrer),
      userAgent: userAgent && decode(asSent(userAgent)),
    });
  };
}

function readFields(text: string): ReadonlyMap<string, number> {
  return new Map(
    text
      .trim()
      .split(/\s+/)
      .map((name, position) => [name, position]),
  );
}

/** CloudFront encodes the percent sign of a sequence once more. */
function asSent(text: string): string {
  return text.replace(/%25([\dA-Fa-f]{2})/g, "%$1");
}

function decode(text: string): string {
  return text.replace(/(?:%[\dA-Fa-f]{2})+/g, (bytes) =>
    Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
  );
}

type JsonObject = Readonly<Record<string, unknown>>;

const caddyProblem = "Must be a line of Caddy's access log in JSON, with ts, request and status";
const nginxProblem =
  "Must be a JSON object with time_iso8601, remote_addr, request_method, request_uri and status, as the documented log_format writes it";

/** Lines of Caddy's access log. Its other messages may stand in the same file, and are no requests. */
export const readCaddyLine: LineReader = (text) => {
  const line = parseObject(text);
  if (!line) return { problem: caddyProblem };
  const { msg, ts, request, status, logger } = line;
  if (!isObject(request)) return typeof msg === "string" && logger !== undefined ? null : { problem: caddyProblem };
  if (msg !== undefined && msg !== "handled request") return null;
  const time = caddyTime(ts);
  const { method, uri, host, tls, headers } = request;
  if (time === null || typeof method !== "string" || typeof uri !== "string" || !isStatus(status)) {
    return { problem: caddyProblem };
  }
  return readRequest({
    ts: time,
    ip: textOf(request["client_ip"]) ?? textOf(request["remote_ip"]),
    method,
    target: uri,
    status: Number(status),
    origin: originOf(isObject(tls) ? "https" : "http", host),
    referrer: headerOf(headers, "Referer"),
    userAgent: headerOf(headers, "User-Agent"),
  });
};

export const readNginxLine: LineReader = (text) => {
  const line = parseObject(text);
  if (!line) return { problem: nginxProblem };
  const { time_iso8601: ts, request_method: method, request_uri: uri, status, scheme, host } = line;
  if (typeof ts !== "string" || typeof method !== "string" || typeof uri !== "string" || !isStatus(status)) {
    return { problem: nginxProblem };
  }
  return readRequest({
    ts,
    ip: textOf(line["remote_addr"]),
    method,
    target: uri,
    status: Number(status),
    origin: originOf(scheme === "http" ? "http" : "https", host),
    referrer: textOf(line["http_referer"]),
    userAgent: textOf(line["http_user_agent"]),
  });
};

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) || (typeof value === "string" && /^\d{1,3}$/.test(value));
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? presentText(value) : null;
}

function originOf(scheme: string, host: unknown): string | undefined {
  const name = textOf(host);
  return name === null ? undefined : `${scheme}://${name}`;
}

/** Caddy writes a header's values as a list; its filters may write a text. */
function headerOf(headers: unknown, name: string): string | null {
  const value = isObject(headers) ? headers[name] : undefined;
  return textOf(Array.isArray(value) ? value[0] : value);
}

/** Seconds since 1970 with a fraction, as Caddy writes by default, milliseconds, nanoseconds, or a text with a zone. */
function caddyTime(ts: unknown): string | null {
  if (typeof ts === "string") return ts;
  if (typeof ts !== "number" || !(ts >= 0)) return null;
  const seconds = ts < 1e11 ? ts : ts < 1e14 ? ts / 1e3 : ts / 1e9;
  const micros = Math.floor(seconds * 1e6);
  const whole = Math.floor(micros / 1e6);
  if (whole > 253_402_300_799) return null;
  return `${new Date(whole * 1000).toISOString().slice(0, 19)}.${String(micros % 1e6).padStart(6, "0")}Z`;
}

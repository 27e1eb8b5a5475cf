import type { LineReader } from "./format.js";
import { presentText, readRequest } from "./log-request.js";

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

/** Lines of nginx's access log by the `log_format` of the README. */
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

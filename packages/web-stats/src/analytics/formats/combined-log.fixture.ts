import { Buffer } from "node:buffer";
import type { Reading } from "./format.js";

export interface WrittenRequest {
  /** UTC, `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly ts: string;
  readonly ip: string;
  readonly path: string;
  readonly referrer: string | null;
  readonly userAgent: string | null;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A page view in the combined form, escaped as one of the two servers does. */
export function writeCombinedLine(request: WrittenRequest, server: "nginx" | "apache" = "nginx"): string {
  const { ts, ip, path, referrer, userAgent } = request;
  const escaped = server === "nginx" ? escapeAsNginx : escapeAsApache;
  const time = `${ts.slice(8, 10)}/${months[Number(ts.slice(5, 7)) - 1]}/${ts.slice(0, 4)}:${ts.slice(11, 19)} +0000`;
  return `${ip} - - [${time}] "GET ${escaped(path)} HTTP/1.1" 200 512 "${escaped(referrer ?? "-")}" "${escaped(userAgent ?? "-")}"`;
}

const hex = (bytes: Buffer) =>
  [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");

function escapeAsNginx(text: string): string {
  return text.replace(/["\\]|[^ -~]+/g, (part) => hex(Buffer.from(part)));
}

const apacheNames: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\v": "\\v",
  "\f": "\\f",
};

function escapeAsApache(text: string): string {
  return text.replace(
    /["\\\n\r\t\b\v\f]|[^ -~\n\r\t\b\v\f]+/g,
    (part) => apacheNames[part] ?? hex(Buffer.from(part)).toLowerCase(),
  );
}

/** A reading as far as it concerns people: without its status, and its reason alone where it is no page view. */
export function ofPeople(reading: Reading) {
  if (reading === null || "problem" in reading) return reading;
  return reading.leftOut ? { leftOut: reading.leftOut } : { fields: reading.fields };
}

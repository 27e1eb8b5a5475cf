import { Buffer } from "node:buffer";
import type { LineReader, Reading } from "./format.js";
import { presentText, readRequest } from "./log-request.js";

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

/** Lines of nginx's and Apache's `combined`. */
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

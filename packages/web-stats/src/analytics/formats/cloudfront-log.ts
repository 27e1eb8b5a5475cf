import { Buffer } from "node:buffer";
import type { LineReader } from "./format.js";
import { presentText, readRequest } from "./log-request.js";

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

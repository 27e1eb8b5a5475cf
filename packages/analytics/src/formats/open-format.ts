import { openCloudFrontLog } from "./cloudfront-log.js";
import { readCombinedLine, readCommonLine } from "./combined-log.js";
import type { FormatName, LineReader } from "./format.js";
import { readCaddyLine, readNginxLine } from "./json-log.js";

/** Makes the reader of one file. */
export function openFormat(name: FormatName): LineReader {
  return makers[name]();
}

/** Whether the format is of a web server's log, of which not every line is a page view. */
export function isLog(name: FormatName): boolean {
  return name !== "ndjson";
}

const makers: Readonly<Record<FormatName, () => LineReader>> = {
  ndjson: () => readJsonLine,
  combined: () => readCombinedLine,
  common: () => readCommonLine,
  "caddy-json": () => readCaddyLine,
  "nginx-json": () => readNginxLine,
  cloudfront: openCloudFrontLog,
};

const readJsonLine: LineReader = (text) => {
  try {
    return { fields: JSON.parse(text) };
  } catch {
    return { problem: "The line must be a JSON object, and it is not valid JSON" };
  }
};

import { JsonText, jsonMembers } from "@waymark/service/fields";
import { openCloudFrontLog } from "./cloudfront-log.js";
import { readCombinedLine, readCommonLine } from "./combined-log.js";
import { exportNames, type FormatName, formatNames, type LineReader } from "./format.js";
import { openGoatCounterExport } from "./goatcounter-export.js";
import { readCaddyLine, readNginxLine } from "./json-log.js";
import { openUmamiExport } from "./umami-export.js";

/** Makes the reader of one file. */
export function openFormat(name: FormatName): LineReader {
  return makers[name]();
}

/** Whether the format is of a web server's log, of which not every line is a page view. */
export function isLog(name: FormatName): boolean {
  return name !== "ndjson" && formatNames.some((each) => each === name);
}

/** Whether a record of the format may take several lines. */
export function isCsv(name: FormatName): boolean {
  return exportNames.some((each) => each === name);
}

const makers: Readonly<Record<FormatName, () => LineReader>> = {
  ndjson: () => readJsonLine,
  combined: () => readCombinedLine,
  common: () => readCommonLine,
  "caddy-json": () => readCaddyLine,
  "nginx-json": () => readNginxLine,
  cloudfront: openCloudFrontLog,
  umami: openUmamiExport,
  goatcounter: openGoatCounterExport,
};

const readJsonLine: LineReader = (text) => {
  try {
    const fields: unknown = JSON.parse(text);
    if (typeof fields === "object" && fields !== null && "revenue" in fields) {
      fields.revenue = new JsonText(jsonMembers(text, ["revenue"]).get("revenue") ?? "null");
    }
    return { fields };
  } catch {
    return { problem: "The line must be a JSON object, and it is not valid JSON" };
  }
};

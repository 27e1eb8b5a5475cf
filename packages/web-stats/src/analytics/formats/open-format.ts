import { JsonText, jsonMembers } from "@waymark/service/fields";
import { openGoatCounterExport, openUmamiExport } from "./exports.js";
import { exportNames, type FormatName, formatNames, type LineReader, type Reading } from "./format.js";
import { openCloudFrontLog, readCaddyLine, readCombinedLine, readCommonLine, readNginxLine } from "./logs.js";

export function openFormat(name: FormatName): LineReader {
  return makers[name]();
}

export function isLog(name: FormatName): boolean {
  return name !== "ndjson" && formatNames.some((each) => each === name);
}

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

/** A combined line also begins like a common one, so a line counts for the first format that reads it. */
const readers: readonly (readonly [FormatName, () => LineReader])[] = [
  ...formatNames.filter((name) => name !== "ndjson").map((name) => [name, () => openFormat(name)] as const),
  ["ndjson", () => readEvent],
];

/** The format of most of a file's first lines; `ndjson` where none reads one, so that the file's problems name the usual form. */
export function guessFormat(lines: readonly string[]): FormatName {
  const opened = readers.map(([name, open]) => ({ name, read: open(), good: 0 }));
  for (const text of lines) {
    const first = opened.find(({ read }) => isGood(read(text)));
    if (first) first.good++;
  }
  const best = opened.reduce((one, other) => (other.good > one.good ? other : one));
  return best.good === 0 ? "ndjson" : best.name;
}

const readEvent: LineReader = (text) => {
  const reading = openFormat("ndjson")(text);
  const fields = reading && "fields" in reading ? (reading.fields as { ts?: unknown } | null) : null;
  return typeof fields?.ts === "string" ? reading : { problem: "no event" };
};

function isGood(reading: Reading): boolean {
  return reading === null || !("problem" in reading);
}

import { type FormatName, formatNames } from "./format.js";
import { openFormat } from "./open-format.js";

/** The richest form first: the start of a combined line is a common one. */
const logs = formatNames.filter((name) => name !== "ndjson");

/**
 * The format with the most good lines among a file's first lines; `ndjson` where none has one, so that the file's problems name
 * the usual form.
 */
export function guessFormat(lines: readonly string[]): FormatName {
  let best: { name: FormatName; good: number } = { name: "ndjson", good: lines.filter(isObject).length };
  for (const name of logs) {
    const read = openFormat(name);
    const good = lines.filter((text) => !isProblem(read(text))).length;
    if (good > best.good) best = { name, good };
  }
  return best.name;
}

function isProblem(reading: object | null): boolean {
  return reading !== null && "problem" in reading;
}

function isObject(text: string): boolean {
  return text.startsWith("{");
}

import { type FormatName, formatNames, type LineReader, type Reading } from "./format.js";
import { openFormat } from "./open-format.js";

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

/** A JSON object with a time as an event's. */
const readEvent: LineReader = (text) => {
  const reading = openFormat("ndjson")(text);
  const fields = reading && "fields" in reading ? (reading.fields as { ts?: unknown } | null) : null;
  return typeof fields?.ts === "string" ? reading : { problem: "no event" };
};

function isGood(reading: Reading): boolean {
  return reading === null || !("problem" in reading);
}

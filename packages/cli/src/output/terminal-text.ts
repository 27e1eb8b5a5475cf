import { randomUUID } from "node:crypto";
import { JsonText, layOutJson } from "@waymark/service/fields";
import stringWidth from "string-width";

/** Characters that control a terminal: control codes, line separators, overrides of the writing direction. */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Narrower and wider ones are drawn as if they were these. */
const widthBounds = { min: 40, max: 200, default: 100 };

const segmenter = new Intl.Segmenter();

export type TerminalStyle = ReturnType<typeof styleOf>;

/** Colours and width of a stream. Only terminals get colours, and none with `NO_COLOR` (no-color.org). */
export function styleOf(stream: { isTTY?: boolean; columns?: number }, env: NodeJS.ProcessEnv) {
  const isTerminal = stream.isTTY === true;
  const hasColors = isTerminal && !env["NO_COLOR"];
  const columns = (isTerminal && stream.columns) || widthBounds.default;
  const paint = (code: number, end: number) => (text: string) =>
    hasColors ? `\u001b[${code}m${text}\u001b[${end}m` : text;
  return {
    width: Math.min(widthBounds.max, Math.max(widthBounds.min, columns)),
    /** Only there text is cut to fit. */
    isTerminal,
    red: paint(31, 39),
    dim: paint(2, 22),
    bold: paint(1, 22),
  };
}

/** A foreign text in one line, without terminal controls. */
export function printable(text: string): string {
  return text.replace(unprintable, " ");
}

/**
 * A value as JSON in one line, with all terminal controls escaped; `JSON.stringify` escapes only some. A `JsonText` in it stays
 * as it is, except for white space.
 */
export function toJsonLine(value: unknown): string | undefined {
  const texts: string[] = [];
  const mark = randomUUID();
  const json: string | undefined = JSON.stringify(value, (_, each: unknown) => {
    return each instanceof JsonText ? `${mark} ${texts.push(layOutJson(each.text)) - 1}` : each;
  });
  const whole = json?.replace(new RegExp(`"${mark} (\\d+)"`, "g"), (_, at: string) => texts[Number(at)] ?? "null");
  return whole?.replace(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A printable text in so many columns: cut with an ellipsis, or filled with spaces. */
export function fit(text: string, width: number): string {
  const cut = cutTo(text, width);
  return cut + " ".repeat(Math.max(0, width - stringWidth(cut)));
}

export function cutTo(text: string, width: number): string {
  // A character takes a column at least or joins the one before; far longer texts need not be measured.
  const head = text.slice(0, width * 16);
  if (head.length === text.length && stringWidth(text) <= width) return text;
  let [cut, used] = ["", 0];
  for (const { segment } of segmenter.segment(head)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    cut += segment;
  }
  return width > 0 ? `${cut}…` : "";
}

export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

/** In units of 1024, such as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const place = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${(bytes / 1_024 ** place).toFixed(place === 0 ? 0 : 1)} ${units[place]}`;
}

export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

/** A count with its noun, such as `1 key` or `2 keys`. */
export function inWords(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Microseconds since 1970 of an ISO 8601 timestamp in UTC, as the trace API writes them. */
export function toMicros(timestamp: string): number {
  const beyondMillis = /\.\d{3}(\d{1,3})/.exec(timestamp)?.[1] ?? "";
  return Date.parse(timestamp) * 1_000 + Number(beyondMillis.padEnd(3, "0"));
}

/** A length of time for a reader, with about three digits: `340 µs`, `12.3 ms`, `4.25 s`, `2 m 05 s`, `3 h 12 m`. */
export function formatDuration(micros: number): string {
  const sign = micros < 0 ? "-" : "";
  const length = Math.abs(micros);
  if (length < 1_000) return `${sign}${Math.round(length)} µs`;
  if (length < 999_500) return `${sign}${threeDigits(length / 1_000)} ms`;
  if (length < 59_950_000) return `${sign}${threeDigits(length / 1_000_000)} s`;
  const seconds = Math.round(length / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  if (hours === 0) return `${sign}${minutes} m ${twoDigits(seconds % 60)} s`;
  return hours < 100 ? `${sign}${hours} h ${twoDigits(minutes)} m` : `${sign}${Math.round(hours / 24)} d`;
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Rows under the titles of their columns, aligned; absent values show as `-`. */
export function formatTable<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  const titles = columns.map((column) => column.replaceAll("_", " ").toUpperCase());
  const cells = [titles, ...rows.map((row) => columns.map((column) => toCell(row[column])))];
  const widths = columns.map((_, index) =>
    cells.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? "")), 0),
  );
  const draw = (row: readonly string[]) => row.map((cell, index) => fit(cell, widths[index] ?? 0)).join("  ");
  return cells.map((row) => draw(row).trimEnd()).join("\n");
}

/** Makes a text of lists: a table, or a sentence where there is nothing. */
export function listing<Row extends object>(columns: readonly (keyof Row & string)[], none: string) {
  return (rows: readonly Row[]) => (rows.length > 0 ? formatTable(columns, rows) : none);
}

/** The fields of one thing, a line each. */
export function formatFields(fields: object): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`);
  return lines.join("\n");
}

function toCell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  // A name with a line feed or an escape code in it must not move the reader's cursor.
  return printable(String(value));
}

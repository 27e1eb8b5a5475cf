import { Buffer, isAscii, isUtf8 } from "node:buffer";
import { parseCsvRecord } from "../formats/format.js";

/** A line, or why it is no text. Numbers start at 1 and count every line. */
export type Line = { readonly number: number } & ({ readonly text: string } | { readonly problem: string });

const newline = 0x0a;

/**
 * Cuts chunks of bytes into lines that end with LF or CRLF, without blank lines and a byte order mark. It reports a line above
 * the bound without holding it in memory, and goes on behind it. An empty chunk gives no lines.
 */
export async function* readLines(input: AsyncIterable<Buffer>, maxLineBytes: number): AsyncGenerator<Line[]> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 0;

  /** A line within a chunk of ASCII needs no look at its bytes. */
  const takeAscii = (chunk: Buffer, start: number, end: number): Line | undefined => {
    number++;
    if (end - start > maxLineBytes) return { number, problem: tooLong(maxLineBytes) };
    const text = chunk.toString("latin1", start, end).trim();
    return text === "" ? undefined : { number, text };
  };
  const take = (end: Buffer): Line | undefined => {
    number++;
    const total = length + end.length;
    const bytes = parts.length === 0 ? end : Buffer.concat([...parts, end]);
    parts = [];
    length = 0;
    if (total > maxLineBytes) return { number, problem: tooLong(maxLineBytes) };
    if (!isUtf8(bytes)) return { number, problem: "The line must be UTF-8" };
    // trim() also removes the byte order mark and the CR of a CRLF.
    const text = bytes.toString("utf8").trim();
    return text === "" ? undefined : { number, text };
  };

  for await (const chunk of input) {
    const lines: Line[] = [];
    const isPlain = isAscii(chunk);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const isWhole = isPlain && length === 0;
      const line = isWhole ? takeAscii(chunk, start, end) : take(chunk.subarray(start, end));
      if (line) lines.push(line);
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    length += rest.length;
    // A line above the bound keeps its length only. A copy of other rests, so that the chunk can go.
    if (length > maxLineBytes) parts = [];
    else if (rest.length > 0) parts.push(Buffer.from(rest));
    // An empty part asks for what came before it.
    if (lines.length > 0 || chunk.length === 0) yield lines;
  }
  const last = length > 0 ? take(Buffer.alloc(0)) : undefined;
  if (last) yield [last];
}

function tooLong(maxLineBytes: number): string {
  return `The line must be at most ${maxLineBytes} bytes long`;
}

/**
 * Joins lines into records of CSV: a quoted field may hold a line's end. A quote that stays open costs its own record alone: a
 * line that is a whole record by itself ends it, and so does the bound.
 */
export async function* joinRecords(input: AsyncIterable<readonly Line[]>, maxLength: number): AsyncGenerator<Line[]> {
  let columns: number | undefined;
  let open: { number: number; parts: string[]; length: number } | undefined;
  const end = (): Line[] => {
    const broken = open && { number: open.number, problem: "A quote of this record stays open" };
    open = undefined;
    return broken ? [broken] : [];
  };
  const take = (line: Line): Line[] => {
    if ("problem" in line) return [...end(), line];
    const { number, text } = line;
    if (!open && isBalanced(text)) {
      columns ??= parseCsvRecord(text)?.length;
      return [line];
    }
    if (open && columns !== undefined && parseCsvRecord(text)?.length === columns) return [...end(), line];
    open ??= { number, parts: [], length: 0 };
    open.parts.push(text);
    open.length += text.length + 1;
    if (open.length > maxLength) return end();
    if (open.parts.length === 1 || isBalanced(text)) return [];
    const whole = { number: open.number, text: open.parts.join("\n") };
    open = undefined;
    return [whole];
  };
  for await (const lines of input) {
    const records = lines.flatMap(take);
    if (records.length > 0) yield records;
  }
  yield end();
}

/** Whether the text's quotes close one another; a doubled quote within a field counts twice. */
function isBalanced(text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) count++;
  return count % 2 === 0;
}

import { Buffer, isAscii, isUtf8 } from "node:buffer";

/** A line, or why it is no text. Numbers start at 1 and count every line. */
export type Line = { readonly number: number } & ({ readonly text: string } | { readonly problem: string });

const newline = 0x0a;

/**
 * Cuts chunks of bytes into lines that end with LF or CRLF, without blank lines and a byte order mark. It reports a line above
 * the bound without holding it in memory, and goes on behind it.
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
    if (lines.length > 0) yield lines;
  }
  const last = length > 0 ? take(Buffer.alloc(0)) : undefined;
  if (last) yield [last];
}

function tooLong(maxLineBytes: number): string {
  return `The line must be at most ${maxLineBytes} bytes long`;
}

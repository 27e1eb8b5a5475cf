import { Buffer, isUtf8 } from "node:buffer";

/** A line of a file, or why it cannot be read as text. Numbers start at 1 and count every line. */
export type Line = { readonly number: number } & ({ readonly text: string } | { readonly problem: string });

const newline = 0x0a;

/**
 * Cuts a stream of bytes into lines, however its chunks fall. Ends of lines are LF or CRLF; blank lines are left out,
 * and so is a byte order mark. A line above the bound is never held in memory: it is reported, and reading goes on
 * behind it.
 */
export async function* readLines(input: AsyncIterable<Buffer>, maxLineBytes: number): AsyncGenerator<Line[]> {
  let pieces: Buffer[] = [];
  let length = 0;
  let number = 0;

  const take = (end: Buffer): Line | undefined => {
    number++;
    const total = length + end.length;
    const bytes = pieces.length === 0 ? end : Buffer.concat([...pieces, end]);
    pieces = [];
    length = 0;
    if (total > maxLineBytes) return { number, problem: `The line must be at most ${maxLineBytes} bytes long` };
    if (!isUtf8(bytes)) return { number, problem: "The line must be UTF-8" };
    // What trim() takes for white space includes the byte order mark and the CR of a CRLF.
    const text = bytes.toString("utf8").trim();
    return text === "" ? undefined : { number, text };
  };

  for await (const chunk of input) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = take(chunk.subarray(start, end));
      if (line) lines.push(line);
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    length += rest.length;
    // Of a line that is too long its length is kept, not its bytes; a copy, so that the chunk can go.
    if (length > maxLineBytes) pieces = [];
    else if (rest.length > 0) pieces.push(Buffer.from(rest));
    if (lines.length > 0) yield lines;
  }
  const last = length > 0 ? take(Buffer.alloc(0)) : undefined;
  if (last) yield [last];
}

import { parseCsvRecord } from "../formats/csv.js";
import type { Line } from "./lines.js";

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

export const formatNames = ["ndjson", "combined", "common", "caddy-json", "nginx-json", "cloudfront"] as const;

export const exportNames = ["umami", "goatcounter"] as const;

export type FormatName = (typeof formatNames)[number] | (typeof exportNames)[number];

/** Why a good line of a log is no page view. */
export type LeftOut = "method" | "status" | "asset";

/**
 * A line of a file: the fields of an import's line, a problem, or null for a line without an event. A request of a log has a
 * status, and a reason to leave it out where it is no page view.
 */
export type Reading =
  | { readonly fields: unknown; readonly isBot?: boolean; readonly status?: number; readonly leftOut?: LeftOut }
  | { readonly problem: string }
  | null;

/** Reads one line after another. A reader may remember earlier lines, as a header. */
export type LineReader = (text: string) => Reading;

/** A record by the names of its file's columns; absent and empty ones are undefined. */
export type CsvRecord = (column: string) => string | undefined;

/** The fields of a record (RFC 4180), some in double quotes; undefined for a text that is no record. */
export function parseCsvRecord(text: string): string[] | undefined {
  const fields: string[] = [];
  for (let start = 0; ; ) {
    if (text[start] !== '"') {
      const end = text.indexOf(",", start);
      const field = end < 0 ? text.slice(start) : text.slice(start, end);
      fields.push(field);
      if (end < 0) return fields;
      start = end + 1;
      continue;
    }
    const end = closingQuote(text, start + 1);
    if (end < 0) return undefined;
    fields.push(text.slice(start + 1, end).replaceAll('""', '"'));
    if (end + 1 === text.length) return fields;
    if (text[end + 1] !== ",") return undefined;
    start = end + 2;
  }
}

function closingQuote(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 2)) {
    if (text[end + 1] !== '"') return end;
  }
  return -1;
}

/** Reads a CSV file whose first record names the columns; without the required ones it is of another kind. */
export function openCsv(
  required: readonly string[],
  read: (record: CsvRecord) => Reading,
  nameColumn = (name: string) => name.trim(),
): LineReader {
  let columns: ReadonlyMap<string, number> | undefined;
  return (text) => {
    const fields = parseCsvRecord(text);
    if (!fields) return { problem: "Must be a record of CSV: a quote is open or stands within a field" };
    const known = columns;
    if (!known) {
      columns = new Map(fields.map((name, position) => [nameColumn(name), position]));
      return missing(columns, required);
    }
    const problem = missing(known, required);
    if (problem) return problem;
    if (fields.length !== known.size) return { problem: `Must have ${known.size} columns, not ${fields.length}` };
    return read((column) => fields[known.get(column) ?? fields.length] || undefined);
  };
}

function missing(columns: ReadonlyMap<string, number>, required: readonly string[]): { problem: string } | null {
  const absent = required.filter((name) => !columns.has(name));
  return absent.length === 0 ? null : { problem: `The file's first line must name the columns ${absent.join(", ")}` };
}

import { microsecondText } from "./microsecond-text.js";
import { answeredNames, fieldOf, type SpanFieldName } from "./span-fields.js";
import { attributesEnd } from "./trace-json.js";

/** Between the values of a column. JSON has no such character; a raw text with one makes a wrong number of values. */
const separator = "\u0001";
const separatorSql = "E'\\x01'";
const idLength = 36;

export interface SpanColumnsToRead {
  withAttributes: boolean;
  /** Whether texts come as JSON, whatever characters they have; raw ones cost Postgres less. */
  withQuotes: boolean;
}

/** A trace's spans by column, in order; without spans all are null. `rests` end each span. */
export type SpanColumns = { count: number; ids: string | null; rests?: string | null } & {
  readonly [Name in SpanFieldName]?: string | Buffer | null;
};

const optionalNames = new Set(answeredNames(true).filter((name) => fieldOf(name).body.isOptional()));

const joined = (value: string) => `string_agg(${value}, ${separatorSql})`;

function columnSql(name: SpanFieldName, withQuotes: boolean): string {
  const { type } = fieldOf(name);
  const isOptional = optionalNames.has(name);
  if (type === "timestamptz") {
    return `string_agg(timestamptz_send(${isOptional ? `COALESCE(s.${name}, '-infinity')` : `s.${name}`}), '')`;
  }
  if (type === "json") return joined(`COALESCE(s.${name}::text, 'null')`);
  if (withQuotes) return joined(`COALESCE(to_json(s.${name})::text, 'null')`);
  return joined(isOptional ? `COALESCE('=' || s.${name}, '')` : `s.${name}`);
}

/** Aggregates that make {@link SpanColumns} of the spans `s`. Text of times and escapes would take most of the statement. */
export function spanAggregates({ withAttributes, withQuotes }: SpanColumnsToRead): string {
  const columns = answeredNames(withAttributes).map((name) => `${columnSql(name, withQuotes)} AS ${name}`);
  const rests = withAttributes ? [`${joined(attributesEnd)} AS rests`] : [];
  return ["count(*)::int AS count", "string_agg(s.id::text, '') AS ids", ...columns, ...rests].join(",\n  ");
}

/** The spans as JSON, each after the other; undefined if a raw text has a separator. */
export function spanTexts(
  columns: SpanColumns,
  { withAttributes, withQuotes }: SpanColumnsToRead,
): string[] | undefined {
  const { count, ids } = columns;
  if (count === 0 || !ids) return [];
  const readers: ((n: number) => string)[] = [];
  for (const name of answeredNames(withAttributes)) {
    const reader = readerOf(name, columns, withQuotes);
    if (!reader) return undefined;
    readers.push(reader);
  }
  const rests = withAttributes ? (columns.rests?.split(separator) ?? []) : undefined;
  const texts: string[] = [];
  for (let n = 0; n < count; n++) {
    let text = `{"id":"${ids.slice(n * idLength, (n + 1) * idLength)}"`;
    for (const read of readers) text += read(n);
    texts.push(text + (rests ? rests[n] : "}"));
  }
  return texts;
}

/** Makes the member of a field from the number of its span. */
function readerOf(name: SpanFieldName, columns: SpanColumns, withQuotes: boolean): ((n: number) => string) | undefined {
  const { type } = fieldOf(name);
  const isOptional = optionalNames.has(name);
  const values = columns[name];
  const start = `,"${name}":`;
  if (Buffer.isBuffer(values)) {
    return (n) => {
      const time = microsecondText(values, n * 8);
      return time === null ? `${start}null` : `${start}"${time}"`;
    };
  }
  const texts = values?.split(separator) ?? [];
  if (texts.length !== columns.count) return undefined;
  if (withQuotes || type === "json") return (n) => start + texts[n];
  if (!isOptional) return (n) => start + quoted(texts[n] ?? "");
  return (n) => start + (texts[n] ? quoted(texts[n].slice(1)) : "null");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escaped = /["\\\u0000-\u001f]/;

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

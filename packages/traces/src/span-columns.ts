import { microsecondText } from "./microsecond-text.js";
import { attributesEnd } from "./trace-json.js";

/** Between the values of a column. JSON has no such character; a name with one makes a wrong number of values. */
const separator = "\u0001";
const separatorSql = "E'\\x01'";

/** The columns of a trace's spans, in order. A value that may be null begins with `=` unless it is. */
export interface SpanColumns {
  count: number;
  ids: string | null;
  names: string | null;
  statuses: string | null;
  starts: Buffer | null;
  ends: Buffer | null;
  inputs: string | null;
  outputs: string | null;
  errors: string | null;
  parents: string | null;
  /** Null unless asked for. */
  rests: string | null;
}

const idLength = 36;

const joined = (value: string) => `string_agg(${value}, ${separatorSql})`;

/** Aggregates that make {@link SpanColumns} of the spans `s`. Text of times and escapes would take most of the statement. */
export const spanColumns = (withAttributes: boolean) => `
  count(*)::int AS count, string_agg(s.id::text, '') AS ids, ${joined("s.name")} AS names, ${joined("s.status")} AS statuses,
  string_agg(timestamptz_send(s.started_at), '') AS starts,
  string_agg(timestamptz_send(COALESCE(s.ended_at, '-infinity')), '') AS ends,
  ${joined("COALESCE(s.input::text, 'null')")} AS inputs, ${joined("COALESCE(s.output::text, 'null')")} AS outputs,
  ${joined("COALESCE('=' || s.error, '')")} AS errors, ${joined("COALESCE('=' || s.parent_span_id, '')")} AS parents,
  ${withAttributes ? joined(attributesEnd) : "NULL"} AS rests`;

/** The spans as JSON, without brackets, as `spanJson` writes them; undefined if a text has a separator. */
export function spansText(columns: SpanColumns): string | undefined {
  const { count, ids, starts, ends } = columns;
  if (count === 0 || !ids || !starts || !ends) return "";
  const texts = [columns.names, columns.statuses, columns.inputs, columns.outputs, columns.errors, columns.parents].map(
    (column) => column?.split(separator) ?? [],
  );
  if (texts.some(({ length }) => length !== count)) return undefined;
  const [names = [], statuses = [], inputs = [], outputs = [], errors = [], parents = []] = texts;
  const rests = columns.rests?.split(separator);
  // Joined text is flat: sending a chain of appended pieces would copy it piece by piece.
  const spans = names.map((name, n) => {
    const end = microsecondText(ends, n * 8);
    const times = `"started_at":"${microsecondText(starts, n * 8)}","ended_at":${end === null ? "null" : `"${end}"`}`;
    const head = `{"id":"${ids.slice(n * idLength, (n + 1) * idLength)}","name":${quoted(name)},"status":"${statuses[n]}",${times}`;
    const tail = `"error":${quotedOrNull(errors[n])},"parent_span_id":${quotedOrNull(parents[n])}${rests ? rests[n] : "}"}`;
    return `${head},"input":${inputs[n]},"output":${outputs[n]},${tail}`;
  });
  return spans.join(",");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escaped = /["\\\u0000-\u001f]/;

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** @param text begins with `=` unless it is null */
function quotedOrNull(text: string | undefined): string {
  return text ? quoted(text.slice(1)) : "null";
}

import { z } from "zod";
import { answeredNames, byParts, fieldOf, optionalNames, type SpanFieldName, type SpanPart } from "./span-fields.js";
import type { SpanKind } from "./statuses.js";
import { type TraceFieldName, traceFields, traceMemberSql } from "./trace-fields.js";

export interface TraceToRead {
  accountId: string;
  traceId: string;
  /** The further fields of spans to include, with `attributes` also `otel`; other words do not count. */
  parts: readonly string[];
  /** All spans, if omitted. */
  kinds?: readonly SpanKind[] | undefined;
}

const orNull = (json: string) => `COALESCE(${json}, 'null')`;

/** A column of a span's resource or scope: one probe of `trace_context_pkey`. */
export const ofContext = (column: string, id: string) =>
  `(SELECT c.${column} FROM trace_context c WHERE c.account_id = s.account_id AND c.trace_id = s.trace_id AND c.id = s.${id})`;

/** The stored object `{"attributes":…,"otel":{…}}` without its opening brace; scope and resource become members of `otel`. */
export const attributesEnd = `CASE WHEN s.resource_id IS NULL
    THEN COALESCE(',' || substring(s.attributes::text FROM 2), ',"attributes":null}')
    ELSE concat(',', left(substring(s.attributes::text FROM 2), -2), ',"scope":', ${orNull(ofContext("value", "scope_id"))},
      ',"resource":', ${orNull(ofContext("value", "resource_id"))}, '}}') END`;

/** The attributes of a span with its resource and scope as one JSON text; null without any. */
export const attributesText = `CASE WHEN s.attributes IS NOT NULL OR s.resource_id IS NOT NULL THEN
  '{' || substring(${attributesEnd} FROM 2) END`;

/** A trace `t` as JSON text, up to its first span. */
export const traceJson = `concat('{"id":"', t.id, '"', ${(Object.keys(traceFields) as TraceFieldName[])
  .map((name) => `',"${name}":', ${traceMemberSql(name)}`)
  .join(", ")}, ',"spans":[')`;

/** Between the values of a column. JSON has no such character; a raw text with one makes a wrong number of values. */
const separator = "\u0001";
const separatorSql = "E'\\x01'";
const idLength = 36;

interface SpanColumnsToRead {
  parts: readonly SpanPart[];
  /** Whether texts come as JSON, whatever characters they have; raw ones cost Postgres less. */
  withQuotes: boolean;
}

/** A trace's spans by column, in order; without spans all are null. `rests` end each span. */
export type SpanColumns = { count: number; ids: string | null; rests?: string | null } & {
  readonly [Name in SpanFieldName]?: string | Buffer | null;
};

const namesWith = byParts((parts) => {
  return { answered: answeredNames(parts), hasRests: parts.includes("attributes") };
});

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
export function spanAggregates({ parts, withQuotes }: SpanColumnsToRead): string {
  const { answered, hasRests } = namesWith(parts);
  const columns = answered.map((name) => `${columnSql(name, withQuotes)} AS ${name}`);
  const rests = hasRests ? [`${joined(attributesEnd)} AS rests`] : [];
  return ["count(*)::int AS count", "string_agg(s.id::text, '') AS ids", ...columns, ...rests].join(",\n  ");
}

/** The spans as JSON, each after the other; undefined if a raw text has a separator. */
export function spanTexts(
  columns: SpanColumns,
  { parts, withQuotes }: Omit<SpanColumnsToRead, "parts"> & Pick<TraceToRead, "parts">,
): string[] | undefined {
  const { count, ids } = columns;
  if (count === 0 || !ids) return [];
  const { answered, hasRests } = namesWith(parts);
  const members: { start: string; values: readonly string[] }[] = [];
  for (const name of answered) {
    const values = valuesOf(name, columns, withQuotes);
    if (values.length !== count) return undefined;
    members.push({ start: `,"${name}":`, values });
  }
  const rests = hasRests ? (columns.rests?.split(separator) ?? []) : undefined;
  const texts: string[] = [];
  for (let n = 0; n < count; n++) {
    let text = `{"id":"${ids.slice(n * idLength, (n + 1) * idLength)}"`;
    for (const { start, values } of members) text += start + values[n];
    texts.push(text + (rests ? rests[n] : "}"));
  }
  return texts;
}

function valuesOf(name: SpanFieldName, columns: SpanColumns, withQuotes: boolean): readonly string[] {
  const { type, body } = fieldOf(name);
  const column = columns[name];
  if (Buffer.isBuffer(column)) {
    const times: string[] = [];
    for (let at = 0; at < column.length; at += 8) {
      const time = microsecondText(column, at);
      times.push(time === null ? "null" : `"${time}"`);
    }
    return times;
  }
  const texts = column?.split(separator) ?? [];
  if (withQuotes || type === "json") return texts;
  if (optionalNames.has(name)) return texts.map((text) => (text ? quoted(text.slice(1)) : "null"));
  return body instanceof z.ZodEnum ? texts.map((text) => `"${text}"`) : texts.map(quoted);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escaped = /["\\\u0000-\u001f]/;

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Seconds from 1970 to 2000, the beginning of Postgres's times. */
const epochSeconds = 946_684_800;
const daySeconds = 86_400;

const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
const threeDigits = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, "0"));

/** The last day and second written: the times of a trace are near each other. */
let lastDay = Number.NaN;
let lastDate = "";
let lastSecond = Number.NaN;
let lastText = "";

/**
 * The time at an offset as answers show it, like `isoText`; null for `-infinity`, which stands for none.
 * @param times as `timestamptz_send` writes them: microseconds in 64 bits
 */
function microsecondText(times: Buffer, offset: number): string | null {
  const high = times.readInt32BE(offset);
  const low = times.readUInt32BE(offset + 4);
  if (high === -0x8000_0000) return null;
  // Before 1715 and after 2285 a double would lose microseconds.
  const isExact = high >= -0x20_0000 && high < 0x20_0000;
  const micros = isExact ? high * 0x1_0000_0000 + low : times.readBigInt64BE(offset);
  if (typeof micros === "number") {
    const seconds = Math.floor(micros / 1_000_000);
    return timeText(seconds, micros - seconds * 1_000_000);
  }
  const fraction = Number(((micros % 1_000_000n) + 1_000_000n) % 1_000_000n);
  return timeText(Number((micros - BigInt(fraction)) / 1_000_000n), fraction);
}

function timeText(seconds: number, fraction: number): string {
  if (seconds !== lastSecond) {
    lastText = secondText(seconds);
    lastSecond = seconds;
  }
  const millis = Math.floor(fraction / 1000);
  const micros = fraction - millis * 1000;
  return `${lastText}.${threeDigits[millis]}${micros === 0 ? "" : threeDigits[micros]}Z`;
}

function secondText(seconds: number): string {
  const day = Math.floor(seconds / daySeconds);
  if (day !== lastDay) {
    lastDate = new Date((day * daySeconds + epochSeconds) * 1000).toISOString().slice(0, 10);
    lastDay = day;
  }
  const second = seconds - day * daySeconds;
  return `${lastDate}T${twoDigits[Math.floor(second / 3600)]}:${twoDigits[Math.floor(second / 60) % 60]}:${twoDigits[second % 60]}`;
}

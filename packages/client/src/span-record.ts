import type { SpanKind, SpanStatus } from "./api-types.js";
import { byteLength } from "./texts.js";

export interface SpanEnd {
  status: SpanStatus;
  endedAt: string;
  /** JSON. */
  output: string | undefined;
  error: string | null;
  attributes: string | undefined;
}

/**
 * A span on its way. A span that still runs when its batch is sent goes out open, and its end follows as a PATCH. So a parent
 * is stored before its children or with them.
 */
export interface SpanRecord {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly startedAt: string;
  readonly parent: SpanRecord | undefined;
  /** JSON; released once stored. */
  input: string | undefined;
  /** A JSON object; those of the end are sent after them. */
  attributes: string | undefined;
  end: SpanEnd | undefined;
  /** The end is sent on its own, because it came after the span's batch was cut. */
  endsApart: boolean;
  state: "waiting" | "sending" | "stored" | "lost";
  id: string | undefined;
  /** OpenTelemetry's, in a run that services share. */
  spanId?: string;
  /** Its share of the queue's capacity. */
  bytes: number;
  /** Called once, with undefined if the span is lost. */
  onSettled: (id: string | undefined) => void;
}

/** Field names, times and ids of a span, roughly. */
const frameBytes = 200;

export function openedBytes(name: string, ...texts: (string | undefined)[]): number {
  return texts.reduce((bytes, text) => bytes + byteLength(text), frameBytes + byteLength(name));
}

export function endBytes({ output, error, attributes }: SpanEnd): number {
  return byteLength(output) + byteLength(error ?? undefined) + byteLength(attributes);
}

type SpanLinks = Readonly<Record<"ref" | "parent_ref" | "parent_span_id", string | undefined>>;

/** The body of a batch. A parent is named by `parent_span_id`, or by `parent_ref` if it is in the same batch. */
export function toBatchText(records: readonly SpanRecord[]): string {
  const indexes = new Map(records.map((record, index) => [record, index]));
  const parents = records.map((record) => livingParent(record));
  const referred = new Set(parents);
  const texts = records.map((record, index) => {
    const parent = parents[index];
    const parentIndex = parent && indexes.get(parent);
    return toSpanText(record, {
      ref: referred.has(record) ? String(index) : undefined,
      parent_ref: parentIndex?.toString(),
      parent_span_id: parentIndex === undefined ? parent?.id : undefined,
    });
  });
  return `{"spans":[${texts.join(",")}]}`;
}

export function toEndText({ status, endedAt, output, error, attributes }: SpanEnd): string {
  return toObject({ status, ended_at: endedAt, error: error ?? undefined }, { output, attributes });
}

/** @param texts members that are JSON already */
export function toObject(members: object, texts: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(texts).map(([name, text]) => (text === undefined ? "" : `,"${name}":${text}`));
  return `${JSON.stringify(members).slice(0, -1)}${parts.join("")}}`;
}

export function merged(start: string | undefined, end: string | undefined): string | undefined {
  if (start === undefined || end === undefined) return start ?? end;
  return JSON.stringify({ ...JSON.parse(start), ...JSON.parse(end) });
}

export function livingParent({ parent }: SpanRecord): SpanRecord | undefined {
  let living = parent;
  while (living?.state === "lost") living = living.parent;
  return living;
}

function toSpanText(record: SpanRecord, links: SpanLinks): string {
  const { name, kind, startedAt, input, attributes: opened } = record;
  const end = record.endsApart ? undefined : record.end;
  const { status = "ok", endedAt, output, error } = end ?? {};
  const known = { name, kind, status, started_at: startedAt, ended_at: endedAt, error: error ?? undefined, ...links };
  return toObject(known, { input, output, attributes: merged(opened, end?.attributes) });
}

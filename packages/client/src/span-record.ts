import type { SpanStatus } from "./api-types.js";
import { byteLength } from "./json-text.js";

/** How a span ended. */
export interface SpanEnd {
  status: SpanStatus;
  endedAt: string;
  /** JSON. */
  output: string | undefined;
  error: string | null;
}

/**
 * A span on its way. It goes out when its batch does, with its end or, where it still runs, without: then the end follows as
 * a change of its own. So a parent is always sent before its children or together with them.
 */
export interface SpanRecord {
  readonly name: string;
  readonly startedAt: string;
  readonly parent: SpanRecord | undefined;
  /** JSON, dropped when it is stored. */
  input: string | undefined;
  end: SpanEnd | undefined;
  state: "waiting" | "sending" | "stored" | "lost";
  /** The service's id, once it is stored. */
  id: string | undefined;
  /** What it takes of the budget. */
  bytes: number;
  /** Told once: the id, or undefined when the span is lost. */
  onSettled: (id: string | undefined) => void;
}

/** About what the field names, times and ids of a span take. */
const frameBytes = 200;

/** How many bytes a span takes that has just been opened. */
export function openedBytes(name: string, input: string | undefined): number {
  return frameBytes + byteLength(name) + byteLength(input);
}

/** How many bytes its end adds. */
export function endBytes({ output, error }: SpanEnd): number {
  return byteLength(output) + byteLength(error ?? undefined);
}

/** The body that adds spans in one batch; parents stand for themselves by `parent_span_id` or, within the batch, by reference. */
export function toBatchText(records: readonly SpanRecord[]): string {
  const places = new Map(records.map((record, place) => [record, place]));
  const parents = records.map((record) => livingParent(record));
  const referred = new Set(parents);
  const texts = records.map((record, place) => {
    const parent = parents[place];
    const parentPlace = parent && places.get(parent);
    return toSpanText(record, [
      ...(referred.has(record) ? [`"ref":"${place}"`] : []),
      ...(parentPlace !== undefined ? [`"parent_ref":"${parentPlace}"`] : []),
      ...(parentPlace === undefined && parent?.id ? [`"parent_span_id":"${parent.id}"`] : []),
    ]);
  });
  return `{"spans":[${texts.join(",")}]}`;
}

/** The body that closes a span that was sent open. */
export function toEndText({ status, endedAt, output, error }: SpanEnd): string {
  const known = JSON.stringify({ status, ended_at: endedAt, ...(error !== null && { error }) });
  return output === undefined ? known : `${known.slice(0, -1)},"output":${output}}`;
}

/** The nearest ancestor that the service has or is about to get. */
function livingParent({ parent }: SpanRecord): SpanRecord | undefined {
  let living = parent;
  while (living?.state === "lost") living = living.parent;
  return living;
}

function toSpanText({ name, startedAt, input, end }: SpanRecord, links: readonly string[]): string {
  const { status = "ok", endedAt, output, error = null } = end ?? {};
  const known = {
    name,
    status,
    started_at: startedAt,
    ...(endedAt && { ended_at: endedAt }),
    ...(error !== null && { error }),
  };
  const parts = [
    JSON.stringify(known).slice(1, -1),
    ...(input === undefined ? [] : [`"input":${input}`]),
    ...(output === undefined ? [] : [`"output":${output}`]),
    ...links,
  ];
  return `{${parts.join(",")}}`;
}

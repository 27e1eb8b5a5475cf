import { jsonMembers, mergeMembers } from "@waymark/service/fields";
import { detailsEvent, eventSources } from "./conventions.js";
import { maxAttributesBytes } from "./map-request.js";
import { type ModelUsage, usageOfJson } from "./model-usage.js";

/** A stored log record, as {@link MappedLog} has it. */
export interface StoredLog {
  name: string;
  event: string;
  input: string | null;
  output: string | null;
  error: string | null;
}

/** What log records make of a span: the contents that it lacks, and what it keeps of them. */
export interface Completion {
  input: string | null;
  output: string | null;
  error: string | null;
  /** JSON objects. */
  logs: readonly string[];
}

type Direction = "input" | "output";

/**
 * Completes a span from all of its log records, in their order. A details event has the whole input or output; without one the
 * messages become a list. Contents that the span has itself win: messages then stay in `logs`.
 * @param own what the span has itself
 */
export function completionOf(
  records: readonly StoredLog[],
  own: Readonly<Record<Direction | "error", boolean>>,
): Completion {
  const isTaken = { input: false, output: false };
  const take = (direction: Direction): string | null => {
    if (own[direction]) return null;
    const whole = records.findLast((record) => record.name === detailsEvent && record[direction] !== null);
    if (whole) return whole[direction];
    const said = records.flatMap((record) => (isMessage(record) ? (record[direction] ?? []) : []));
    isTaken[direction] = said.length > 0;
    return said.length > 0 ? `[${said.join(",")}]` : null;
  };
  const [input, output] = [take("input"), take("output")];
  const logs = records.flatMap((record) => {
    if (!isMessage(record)) return [record.event];
    const direction = record.input === null ? "output" : "input";
    return isTaken[direction] ? [] : [`${record.event.slice(0, -1)},"body":${record[direction] ?? "null"}}`];
  });
  const error = own.error ? null : (records.findLast((record) => record.error !== null)?.error ?? null);
  return { input, output, error, logs };
}

function isMessage({ name, input, output }: StoredLog): boolean {
  return eventSources.has(name) && (input !== null || output !== null);
}

/** The model call that the last details event reports, with tokens or a cost. */
export function usageOfLogs(records: readonly StoredLog[]): ModelUsage | null {
  for (const { name, event } of records.toReversed()) {
    const attributes = name === detailsEvent ? jsonMembers(event, ["attributes"]).get("attributes") : undefined;
    const usage = attributes === undefined ? null : usageOfJson(attributes);
    if (usage) return usage;
  }
  return null;
}

/** The model call that a span's stored attributes report. */
export function usageOfStored(stored: string): ModelUsage | null {
  const attributes = jsonMembers(stored, ["attributes"]).get("attributes");
  return attributes === undefined ? null : usageOfJson(attributes);
}

/** A span's stored attributes with its log records as `otel.logs`: the first ones, as many as the bound of attributes takes. */
export function withLogs(stored: string, logs: readonly string[]): string {
  const { attributes = "{}", otel = "{}" } = Object.fromEntries(jsonMembers(stored, ["attributes", "otel"]));
  const bare = mergeMembers(otel, '{"logs":null}');
  let left = maxAttributesBytes - Buffer.byteLength(attributes) - Buffer.byteLength(bare);
  const fitting = logs.filter((log) => {
    left -= Buffer.byteLength(log) + 1;
    return left > 0;
  });
  const merged = fitting.length === 0 ? bare : mergeMembers(bare, `{"logs":[${fitting.join(",")}]}`);
  return `{"attributes":${attributes},"otel":${merged}}`;
}

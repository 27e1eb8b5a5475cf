import { parseTimestamp } from "@waymark/service/fields";
import { type ListedTrace, lettersOf } from "./list-traces.query.js";
import type { TraceFilter } from "./list-traces.schema.js";

export type MatchesTrace = (trace: ListedTrace) => boolean;

/** The filters of a list for single traces; undefined where there is none. */
export function traceFilter(filter: TraceFilter): MatchesTrace | undefined {
  const { agent_id, status, name, from, to, min_duration_ms } = filter;
  const conditions: MatchesTrace[] = [];
  if (agent_id !== undefined) conditions.push((trace) => trace.agent_id === agent_id);
  if (status !== undefined) conditions.push((trace) => status.includes(trace.status));
  if (min_duration_ms !== undefined) {
    conditions.push(({ duration_ms }) => duration_ms !== null && duration_ms >= min_duration_ms);
  }
  if (from !== undefined) conditions.push((trace) => startOf(trace) >= from);
  if (to !== undefined) conditions.push((trace) => startOf(trace) < to);
  if (name !== undefined) {
    const pattern = namePattern(name);
    conditions.push((trace) => pattern.test(trace.name));
  }
  return conditions.length === 0 ? undefined : (trace) => conditions.every((matches) => matches(trace));
}

/** In the form of the parameters, which sorts as text. */
function startOf({ started_at }: ListedTrace): string {
  const start = parseTimestamp(started_at);
  return start.ok ? start.value : started_at;
}

/** Like the list's search, ASCII text matches ASCII alone: `k` does not find the Kelvin sign. */
function namePattern(text: string): RegExp {
  const isAscii = !/[^\0-\x7f]/.test(text);
  const lettersIn = (character: string) => lettersOf(character).filter((each) => !isAscii || each <= "\x7f");
  const parts = [...text].map((character) => {
    const letters = lettersIn(character);
    return letters.length > 1 ? `[${letters.join("")}]` : character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
  return new RegExp(parts.join(""), "u");
}

import type { ErrorGroup } from "./agents.schema.js";

/** Groups errors by their text without digits, most frequent first; errors come latest first. */
export function groupErrors(errors: readonly { traceId: string; error: string | null }[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const { traceId, error } of errors) {
    const text = (error ?? "No error text").replace(/\d+/g, "…").trim();
    const group = groups.get(text);
    if (group) group.count++;
    else groups.set(text, { text, count: 1, traceId });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

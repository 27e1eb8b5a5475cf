import { WaymarkApiError } from "./errors.js";

/** A full trace answers 413 with `limit`; a body that is too large has `limit_bytes`. */
export function saysTraceIsFull(error: unknown): boolean {
  if (!(error instanceof WaymarkApiError) || error.status !== 413) return false;
  return typeof error.body === "object" && error.body !== null && "limit" in error.body;
}

/**
 * Separates the wrong spans of a failed batch from those to send again. If the service does not name them, as with a body
 * that is too large or nested too deep, both halves are sent again.
 */
export function sortOut<Item>(items: readonly Item[], error: unknown): { refused: readonly Item[]; again: Item[][] } {
  const isOfBody = error instanceof WaymarkApiError && (error.status === 400 || error.status === 413);
  if (!isOfBody || items.length === 1 || saysTraceIsFull(error)) return { refused: items, again: [] };
  const wrong = wrongIndexes(error.fields);
  const refused = items.filter((_, index) => wrong.has(index));
  const others = items.filter((_, index) => !wrong.has(index));
  if (refused.length > 0) return { refused, again: others.length > 0 ? [others] : [] };
  const middle = Math.ceil(items.length / 2);
  return { refused: [], again: [items.slice(0, middle), items.slice(middle)] };
}

/** The service names wrong fields such as `spans.3.started_at`. */
function wrongIndexes(fields: Readonly<Record<string, string>>): Set<number> {
  const indexes = Object.keys(fields).map((field) => /^spans\.(\d+)(\.|$)/.exec(field)?.[1]);
  return new Set(indexes.filter((index) => index !== undefined).map(Number));
}

import type { Span } from "./spans.js";

/** A span without contents, from 0 to 1. */
export function testSpan(id: string, more: Partial<Span> = {}): Span {
  const has = { input: false, output: false, error: false, attributes: false };
  const state = { start: 0, end: 1, isReversed: false, isFailed: false, error: undefined };
  const compared = { input: undefined, output: undefined, model: "" };
  return { id, parentId: undefined, name: id, kind: "other", has, ...state, ...compared, ...more };
}

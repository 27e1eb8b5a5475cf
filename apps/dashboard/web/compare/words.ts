import type { Span } from "../trace/spans.js";
import { formatDuration } from "../ui/format.js";
import type { Pair } from "./align.js";

/** What differs, in words. */
export function wordsOf({ left, right, differs }: Pair): string[] {
  return differs.map((difference) => {
    if (difference !== "status") return difference;
    if (left?.isFailed === right?.isFailed) return "no end";
    return left?.isFailed ? "failed here" : "failed there";
  });
}

export const timeOf = (span: Span | undefined) =>
  span ? (span.end === undefined ? "no end" : formatDuration(span.end - span.start)) : "–";

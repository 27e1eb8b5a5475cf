import type { Span } from "@waymark/client";
import { toMicros } from "../output/time-text.js";

/** A span with its branch of the tree. */
export interface TreeRow {
  span: Span;
  /** The lines before its name, such as `│  └─ `. */
  branch: string;
}

/** Deeper spans get the same indent, since a chain of thousands does not fit a terminal. */
const maxDepth = 16;

interface Waiting {
  span: Span;
  depth: number;
  /** The branch of the rows below. */
  trunk: string;
  isLast: boolean;
}

/**
 * Orders spans as a tree, children by their start. Every span comes once. A span without its parent in the
 * trace stands at the top, and so does one span of a circle of parents.
 */
export function* toTreeRows(spans: readonly Span[]): Generator<TreeRow, void, void> {
  const known = new Set(spans.map(({ id }) => id));
  const byStart = spans.map((span) => ({ span, at: toMicros(span.started_at) })).sort((a, b) => a.at - b.at);
  const childrenOf = groupBy(byStart, keyOf);
  const seen = new Set<string>();

  function keyOf({ span }: { span: Span }): string | null {
    return span.parent_span_id !== null && known.has(span.parent_span_id) ? span.parent_span_id : null;
  }
  /** Pushes a span's children in reverse order, since the last one pushed comes first. */
  function add(waiting: Waiting[], parent: string | null, depth: number, trunk: string): void {
    const children = childrenOf.get(parent) ?? [];
    for (const [index, { span }] of [...children.entries()].reverse()) {
      waiting.push({ span, depth, trunk, isLast: index === children.length - 1 });
    }
  }
  function* walk(waiting: Waiting[]): Generator<TreeRow, void, void> {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { span, depth, trunk, isLast } = next;
      if (seen.has(span.id)) continue;
      seen.add(span.id);
      yield { span, branch: depth === 0 ? "" : `${trunk}${isLast ? "└─ " : "├─ "}` };
      const below = depth === 0 || depth >= maxDepth ? trunk : `${trunk}${isLast ? "   " : "│  "}`;
      add(waiting, span.id, depth + 1, below);
    }
  }

  const top: Waiting[] = [];
  add(top, null, 0, "");
  yield* walk(top);
  for (const { span } of byStart) {
    if (!seen.has(span.id)) yield* walk([{ span, depth: 0, trunk: "", isLast: true }]);
  }
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

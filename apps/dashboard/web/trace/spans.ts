import type { ContentName, OutlinePage } from "@waymark/traces";
import type { Kind } from "./kinds.js";

/** A span of the outline. Times are milliseconds since the trace's start. */
export interface Span {
  id: string;
  /** As sent; undefined at the top. */
  parentId: string | undefined;
  name: string;
  kind: Kind;
  start: number;
  /** Undefined while it runs, or when its end never came. */
  end: number | undefined;
  /** Whether it was sent with an end before its start; it then has no length. */
  isReversed: boolean;
  isFailed: boolean;
  readonly has: Readonly<Record<ContentName, boolean>>;
  error: string | undefined;
  /** To compare with another trace; undefined where they were not asked for, or are too large. */
  input: number | undefined;
  output: number | undefined;
  model: string;
}

const isFailed = 1;
const flags = { input: 2, output: 4, error: 8, attributes: 16 } as const satisfies Record<ContentName, number>;
export const contentNames = Object.keys(flags) as ContentName[];

/** By flags: spans share them. */
const contents = Array.from({ length: 2 << contentNames.length }, (_, all) => {
  return Object.fromEntries(contentNames.map((name) => [name, (all & flags[name]) !== 0])) as Span["has"];
});
const nothing = contents[0] as Span["has"];

/** Adds a page's spans by id, in order of receipt; one that is there already changes in place. False where nothing changed. */
export function addPage(spans: Map<string, Span>, page: OutlinePage): boolean {
  let isChanged = false;
  let row = -1;
  for (const id of page.id) {
    row++;
    const start = (page.start[row] ?? 0) / 1_000;
    const duration = page.duration[row] ?? undefined;
    const all = page.flags[row] ?? 0;
    const span: Span = {
      id,
      parentId: page.parent[row]?.toLowerCase(),
      name: page.names[page.name[row] ?? 0] ?? "",
      kind: page.kinds[page.kind[row] ?? 0] ?? "other",
      start,
      end: duration === undefined ? undefined : start + Math.max(0, duration / 1_000),
      isReversed: duration !== undefined && duration < 0,
      isFailed: (all & isFailed) !== 0,
      has: contents[all] ?? nothing,
      error: page.errors[row],
      input: page.input?.[row] ?? undefined,
      output: page.output?.[row] ?? undefined,
      model: page.models?.[page.model?.[row] ?? 0] ?? "",
    };
    const known = spans.get(id);
    if (known && isSame(known, span)) continue;
    spans.set(id, span);
    isChanged = true;
  }
  return isChanged;
}

function isSame(a: Span, b: Span): boolean {
  return (Object.keys(b) as (keyof Span)[]).every((member) => a[member] === b[member]);
}

/** The time from the trace's start to its end and all of its spans: spans outside make the axis longer. */
export function extentOf(
  nodes: readonly { readonly span: Span }[],
  traceEnd: number | undefined,
): { from: number; to: number } {
  let [from, to] = [0, traceEnd ?? 0];
  for (const { span } of nodes) {
    from = Math.min(from, span.start);
    to = Math.max(to, span.end ?? span.start);
  }
  return { from, to: Math.max(to, from + 0.001) };
}

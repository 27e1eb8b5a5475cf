import type { Span } from "./spans.js";

export interface Node {
  readonly span: Span;
  order: number;
  parent: Node | undefined;
  /** By start, then in order of receipt. */
  readonly children: Node[];
  depth: number;
  /** Its place among its siblings, from 1, and their number. */
  position: number;
  siblings: number;
  /** Why it stands at the top although it names a parent. */
  mark: "no parent found" | "its parents lead in a circle" | undefined;
}

export interface Tree {
  /** Depth first: the order of rows. */
  readonly nodes: readonly Node[];
  readonly byId: ReadonlyMap<string, Node>;
  readonly maxDepth: number;
}

/**
 * Puts spans in place. Every span appears once, whatever its parent: an unknown parent leaves it at the top, and a circle of
 * parents is cut at its first span.
 */
export function buildTree(spans: Iterable<Span>): Tree {
  const byId = new Map<string, Node>();
  const received: Node[] = [];
  const unplaced = { parent: undefined, depth: 0, position: 1, siblings: 1, mark: undefined };
  for (const span of spans) {
    const node: Node = { span, children: [], order: received.length, ...unplaced };
    byId.set(span.id, node);
    received.push(node);
  }
  for (const node of received) {
    if (node.span.parentId === undefined) continue;
    node.parent = byId.get(node.span.parentId);
    if (!node.parent) node.mark = "no parent found";
  }
  cutCircles(received);
  const roots: Node[] = [];
  for (const node of received) (node.parent?.children ?? roots).push(node);
  return { byId, ...place(roots) };
}

/** A walk from the first span received meets a circle's first span before the others of it only if that span is on the walk. */
function cutCircles(received: readonly Node[]): void {
  const walkOf = new Int32Array(received.length).fill(-1);
  for (const first of received) {
    let node: Node | undefined = first;
    while (node && walkOf[node.order] === -1) {
      walkOf[node.order] = first.order;
      node = node.parent;
    }
    if (!node || walkOf[node.order] !== first.order) continue;
    let cut = node;
    for (let other = node.parent; other && other !== node; other = other.parent) {
      if (other.order < cut.order) cut = other;
    }
    cut.parent = undefined;
    cut.mark = "its parents lead in a circle";
  }
}

/** Sorts, numbers and lists nodes without recursion: a chain may be 100,000 deep. */
function place(roots: Node[]): { nodes: Node[]; maxDepth: number } {
  const nodes: Node[] = [];
  let maxDepth = 0;
  const waiting: Node[] = [];
  const push = (siblings: Node[], depth: number) => {
    siblings.sort((a, b) => a.span.start - b.span.start);
    for (let at = siblings.length - 1; at >= 0; at--) {
      const node = siblings[at];
      if (!node) continue;
      node.depth = depth;
      node.position = at + 1;
      node.siblings = siblings.length;
      waiting.push(node);
    }
    maxDepth = Math.max(maxDepth, depth);
  };
  push(roots, 0);
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    node.order = nodes.length;
    nodes.push(node);
    if (node.children.length > 0) push(node.children, node.depth + 1);
  }
  return { nodes, maxDepth };
}

/** The rows to show: nodes with no closed one above them. */
export function openRows({ nodes }: Tree, closed: ReadonlySet<string>): readonly Node[] {
  if (closed.size === 0) return nodes;
  const rows: Node[] = [];
  let hiddenBelow = Number.POSITIVE_INFINITY;
  for (const node of nodes) {
    if (node.depth > hiddenBelow) continue;
    hiddenBelow = closed.has(node.span.id) ? node.depth : Number.POSITIVE_INFINITY;
    rows.push(node);
  }
  return rows;
}

/** The row of a node, or of the closed one above it; -1 without rows. */
export function rowOf(rows: readonly Node[], { order }: Node): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rows[middle]?.order ?? 0) <= order) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

/** Rows beyond those in sight; they change by so many at once. */
const blockRows = 8;

export function rowsInSight(scrollTop: number, height: number, rowHeight: number, count: number) {
  const first = Math.floor(scrollTop / rowHeight / blockRows) - 1;
  const last = Math.ceil((scrollTop + height) / rowHeight / blockRows) + 1;
  const from = Math.max(0, Math.min(first * blockRows, count));
  return { from, to: Math.max(from, Math.min(last * blockRows, count)) };
}

import type { Span } from "./spans.js";

/** A span in its place. */
export interface Node {
  readonly span: Span;
  parent: Node | undefined;
  /** By start, then in order of receipt. */
  readonly children: Node[];
  /** 0 at the top. */
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
  for (const span of spans) {
    byId.set(span.id, { span, parent: undefined, children: [], depth: 0, position: 1, siblings: 1, mark: undefined });
  }
  const received = [...byId.values()];
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
  const order = new Map(received.map((node, at) => [node, at]));
  const walkOf = new Map<Node, number>();
  for (const [walk, first] of received.entries()) {
    let node: Node | undefined = first;
    while (node && !walkOf.has(node)) {
      walkOf.set(node, walk);
      node = node.parent;
    }
    if (!node || walkOf.get(node) !== walk) continue;
    let cut = node;
    for (let other = node.parent; other && other !== node; other = other.parent) {
      if ((order.get(other) ?? 0) < (order.get(cut) ?? 0)) cut = other;
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

/** The rows of a list in sight, with some beyond. */
export function rowsInSight(scrollTop: number, height: number, rowHeight: number, count: number) {
  const beyond = 6;
  const from = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - beyond, count));
  const to = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + beyond);
  return { from, to: Math.max(from, to) };
}

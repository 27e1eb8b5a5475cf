import type { Span } from "../trace/spans.js";
import type { Node, Tree } from "../trace/tree.js";
import { type Budget, matchInOrder } from "./match.js";

/** What two spans differ in. A row of one side has no other. */
export type Difference =
  | "this run only"
  | "other run only"
  | "name"
  | "status"
  | "model"
  | "input"
  | "output"
  | "error"
  | "time";

export interface Pair {
  left: Span | undefined;
  right: Span | undefined;
  differs: readonly Difference[];
  /** Whether it differs in more than time, and no row below it says why. */
  isCause: boolean;
}

export interface Alignment {
  /** Rows of both traces: a node has the left span, or the right one where there is no left. */
  tree: Tree;
  /** By the ids of the tree's nodes. */
  pairs: ReadonlyMap<string, Pair>;
  causes: readonly Node[];
  /** Paired spans with inputs or outputs that only opening them compares. */
  unread: number;
}

const maxSteps = 2_000_000;
const nodesPerTurn = 128;

interface Waiting {
  node: Node;
  lefts: readonly Node[];
  rights: readonly Node[];
}

/**
 * Sets two traces side by side, of up to 100,000 spans each: a trace has no more. Children of paired spans are paired by kind and
 * name in the order of their start, what is left between two pairs by names without digits, then calls of models and spans with
 * children by their kind alone. Every span comes once, in its trace's order. It yields about each millisecond; two traces of 100,000
 * spans take under a second in all, as {@link maxSteps} bounds the exact matching.
 */
export function* align(left: Tree, right: Tree): Generator<void, Alignment> {
  const budget = { left: maxSteps };
  const nodes: Node[] = [];
  const byId = new Map<string, Node>();
  const pairs = new Map<string, Pair>();
  let unread = 0;
  let maxDepth = 0;
  const [lefts, rights] = [left, right].map(({ nodes }) => nodes.filter(({ depth }) => depth === 0));
  const waiting = yield* mergeSiblings({ parent: undefined, lefts: lefts ?? [], rights: rights ?? [] }, pairs, budget);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node } = next;
    node.order = nodes.length;
    nodes.push(node);
    byId.set(node.span.id, node);
    maxDepth = Math.max(maxDepth, node.depth);
    unread += Number(isUnread(pairs.get(node.span.id)));
    if (nodes.length % nodesPerTurn === 0) yield;
    if (next.lefts.length + next.rights.length === 0) continue;
    for (const child of yield* mergeSiblings({ parent: node, ...next }, pairs, budget)) waiting.push(child);
  }
  const causes = yield* findCauses(nodes, pairs);
  return { tree: { nodes, byId, maxDepth }, pairs, causes, unread };
}

interface Siblings {
  parent: Node | undefined;
  lefts: readonly Node[];
  rights: readonly Node[];
}

/** Makes the nodes of two lists of siblings, the last one first: between two pairs the left ones, then the right ones. */
function* mergeSiblings(
  { parent, lefts, rights }: Siblings,
  pairs: Map<string, Pair>,
  budget: Budget,
): Generator<void, Waiting[]> {
  const partners = yield* pairSiblings(lefts, rights, budget);
  const merged: Waiting[] = [];
  const depth = parent ? parent.depth + 1 : 0;
  const add = (left: Node | undefined, right: Node | undefined) => {
    const span = (left ?? right)?.span;
    if (!span) return;
    const node: Node = {
      span,
      parent,
      depth,
      children: [],
      order: 0,
      position: merged.length + 1,
      siblings: 0,
      mark: undefined,
    };
    pairs.set(span.id, pairOf(left?.span, right?.span));
    parent?.children.push(node);
    merged.push({ node, lefts: left?.children ?? [], rights: right?.children ?? [] });
  };
  let other = 0;
  for (const [at, left] of lefts.entries()) {
    const partner = partners[at] ?? -1;
    while (other < partner) add(undefined, rights[other++]);
    add(left, partner === -1 ? undefined : rights[other++]);
    if (merged.length % nodesPerTurn === 0) yield;
  }
  while (other < rights.length) {
    add(undefined, rights[other++]);
    if (merged.length % nodesPerTurn === 0) yield;
  }
  for (const { node } of merged) node.siblings = merged.length;
  return merged.reverse();
}

/** Keys of spans that may be pairs, the strictest first; no key, no pair. */
const keys: readonly ((node: Node) => string | undefined)[] = [
  ({ span: { kind, name } }) => `${kind} ${name}`,
  ({ span: { kind, name } }) => `${kind} ${name.replace(/\d+/g, "0")}`,
  ({ span: { kind }, children }) => (kind === "model" || children.length > 0 ? kind : undefined),
];

function* pairSiblings(lefts: readonly Node[], rights: readonly Node[], budget: Budget): Generator<void, Int32Array> {
  const [left, right] = [lefts[0], rights[0]];
  if (left?.depth === 0 && right && lefts.length === 1 && rights.length === 1) return Int32Array.of(0);
  const partners = new Int32Array(lefts.length).fill(-1);
  for (const keyOf of keys) {
    let [from, otherFrom, gaps] = [0, 0, 0];
    for (let at = 0; at <= lefts.length; at++) {
      const partner = at === lefts.length ? rights.length : (partners[at] ?? -1);
      if (partner === -1) continue;
      if (at > from && partner > otherFrom) {
        if (++gaps % nodesPerTurn === 0) yield;
        const gap = [lefts.slice(from, at), rights.slice(otherFrom, partner)] as const;
        const found = yield* matchInOrder(...(yield* numbersOf(gap, keyOf)), budget);
        for (const [n, other] of found.entries()) if (other !== -1) partners[from + n] = otherFrom + other;
      }
      [from, otherFrom] = [at + 1, partner + 1];
    }
    yield;
  }
  return partners;
}

/** The same number for the same key; another one for each span without a key. */
function* numbersOf(
  lists: readonly [readonly Node[], readonly Node[]],
  keyOf: (node: Node) => string | undefined,
): Generator<void, [number[], number[]]> {
  const known = new Map<string, number>();
  const numbers: [number[], number[]] = [[], []];
  let numbered = 0;
  for (const [side, list] of lists.entries()) {
    for (const node of list) {
      const key = keyOf(node);
      const number = key === undefined ? -1 - numbered : (known.get(key) ?? known.size);
      if (key !== undefined) known.set(key, number);
      numbers[side]?.push(number);
      if (++numbered % (nodesPerTurn * 8) === 0) yield;
    }
  }
  return numbers;
}

/** Shorter differences and smaller ratios are chance. */
const [minTimeMs, minRatio] = [100, 2];

function pairOf(left: Span | undefined, right: Span | undefined): Pair {
  if (!left || !right) return { left, right, differs: [left ? "this run only" : "other run only"], isCause: false };
  const differs: Difference[] = [];
  const add = (difference: Difference, isThere: boolean) => isThere && differs.push(difference);
  add("status", left.isFailed !== right.isFailed || (left.end === undefined) !== (right.end === undefined));
  add("name", left.name !== right.name);
  add("model", left.model !== right.model);
  for (const name of ["input", "output"] as const)
    add(name, left.has[name] !== right.has[name] || (isRead(left, right, name) && left[name] !== right[name]));
  add("error", left.isFailed && right.isFailed && left.error !== right.error);
  const [time, otherTime] = [left, right].map(({ start, end = start }) => end - start).sort((a, b) => a - b);
  add("time", timesDiffer(time ?? 0, otherTime ?? 0));
  return { left, right, differs, isCause: false };
}

const timesDiffer = (less: number, more: number) => more - less >= minTimeMs && more >= less * minRatio;

const isRead = (left: Span, right: Span, name: "input" | "output") =>
  left[name] !== undefined && right[name] !== undefined;

function isUnread({ left, right }: Partial<Pair> = {}): boolean {
  if (!left || !right) return false;
  return (["input", "output"] as const).some((name) => left.has[name] && right.has[name] && !isRead(left, right, name));
}

/** Children come after their parents, so from the last node on each knows of those below it. */
function* findCauses(nodes: readonly Node[], pairs: ReadonlyMap<string, Pair>): Generator<void, Node[]> {
  const explained = new Set<Node>();
  const causes: Node[] = [];
  for (let at = nodes.length - 1; at >= 0; at--) {
    if (at % (nodesPerTurn * 8) === 0) yield;
    const node = nodes[at];
    const pair = node && pairs.get(node.span.id);
    if (!node || !pair) continue;
    const isOneSided = !pair.left || !pair.right;
    const above = node.parent && pairs.get(node.parent.span.id);
    if (isOneSided && above && (!above.left || !above.right)) continue;
    const differs = pair.differs.some((difference) => difference !== "time");
    if (node.parent && (differs || explained.has(node))) explained.add(node.parent);
    pair.isCause = differs && !explained.has(node);
    if (pair.isCause) causes.push(node);
  }
  return causes.reverse();
}

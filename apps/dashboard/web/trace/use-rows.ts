import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { type Node, openRows, type Tree } from "./tree.js";

export type RowsView = ReturnType<typeof useRows>;

interface RowsOptions {
  /** The span to select at first. */
  start: string | undefined;
  /** The one until a person selects another. */
  first?: string | null | undefined;
  /** The same function at each call. */
  onSelect?(): void;
}

/** The rows of a tree: which are folded, and the selected one. */
export function useRows(tree: Tree, { start, first, onSelect }: RowsOptions) {
  const [selectedId, setSelectedId] = useState(start);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => openRows(tree, closed), [tree, closed]);
  const selected = tree.byId.get(selectedId ?? "") ?? tree.byId.get(first ?? "") ?? tree.nodes[0];
  const select = useCallback((node: Node | undefined) => {
    if (!node) return;
    setSelectedId(node.span.id);
    onSelect?.();
    setClosed((ids) => withoutParents(ids, node));
  }, []);
  const latest = useRef(selected);
  latest.current = selected;
  const setOpen = useCallback((node: Node, isOpen: boolean) => {
    setClosed((ids) => changed(ids, node.span.id, isOpen));
    if (!isOpen && isBelow(latest.current, node)) setSelectedId(node.span.id);
  }, []);
  const setAllOpen = (isOpen: boolean) => {
    setClosed(new Set(isOpen ? [] : tree.nodes.filter((node) => node.children.length > 0).map(({ span }) => span.id)));
    if (!isOpen && selected) setSelectedId(topOf(selected).span.id);
  };
  return { tree, rows, closed, selected, selectedId, select, setOpen, setAllOpen };
}

/** The node after (1), before (-1) or at and after (0) the selected one, in the order of rows; it goes around. */
export function nextOf(nodes: readonly Node[], selected: Node | undefined, step: number): Node | undefined {
  const here = selected?.order ?? -1;
  if (step < 0) return nodes.findLast(({ order }) => order < here) ?? nodes.at(-1);
  return nodes.find(({ order }) => (step === 0 ? order >= here : order > here)) ?? nodes[0];
}

function isBelow(node: Node | undefined, above: Node): boolean {
  let parent = node?.parent;
  while (parent && parent !== above) parent = parent.parent;
  return parent !== undefined;
}

function withoutParents(ids: ReadonlySet<string>, node: Node): ReadonlySet<string> {
  let open = ids;
  for (let parent = node.parent; parent; parent = parent.parent) {
    if (open.has(parent.span.id)) open = changed(open, parent.span.id, true);
  }
  return open;
}

function changed(ids: ReadonlySet<string>, id: string, isOpen: boolean): ReadonlySet<string> {
  const copy = new Set(ids);
  if (isOpen) copy.delete(id);
  else copy.add(id);
  return copy;
}

function topOf(node: Node): Node {
  let top = node;
  while (top.parent) top = top.parent;
  return top;
}

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { readAddress, writeAddress } from "./address.js";
import { extentOf } from "./spans.js";
import { createScale, idleStretches, type Scale, type Stretch, stretchOf } from "./timeline.js";
import { type Node, openRows, type Tree } from "./tree.js";
import type { Outline } from "./use-outline.js";

/** Below this many pixels the selected span is too small in a large trace: the lanes show its parent's time. */
const minSpanPixels = 4;
/** A smaller trace fits a few screens: its lanes always show everything. */
const minSpansToZoom = 200;
/** Browsers refuse more than some seven changes of the address a second. */
const addressDelayMs = 200;

export type View = ReturnType<typeof useView>;

export function useView({ trace, tree, at }: Outline, lanePixels: number) {
  const [start] = useState(readAddress);
  const [selectedId, setSelectedId] = useState(start.span);
  const [find, setFindText] = useState(start.find);
  const [zoom, changeZoom] = useState<Stretch | "all" | undefined>(start.zoom);
  const [skipsIdle, setSkipsIdle] = useState(true);
  /** Whether the details are shown where they cover a part of the page. */
  const [hasSheet, setSheet] = useState(true);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());

  const rows = useMemo(() => openRows(tree, closed), [tree, closed]);
  const failed = useMemo(() => tree.nodes.filter(({ span }) => span.isFailed), [tree]);
  const found = useMemo(() => findNodes(tree, find), [tree, find]);
  const selected = tree.byId.get(selectedId ?? "") ?? tree.byId.get(trace?.first_failed ?? "") ?? tree.nodes[0];
  const scales = useScales({ trace, tree, at }, { selected, zoom, skipsIdle, lanePixels });

  const traceId = trace?.id;
  useEffect(() => {
    if (traceId === undefined) return;
    const address = { span: selectedId, find, zoom: zoom === "all" ? undefined : zoom };
    const timer = setTimeout(() => writeAddress(traceId, address), addressDelayMs);
    return () => clearTimeout(timer);
  }, [traceId, selectedId, find, zoom]);

  const select = useCallback((node: Node | undefined) => {
    if (!node) return;
    setSelectedId(node.span.id);
    setSheet(true);
    setClosed((ids) => withoutParents(ids, node));
  }, []);
  const setFind = (text: string) => {
    setFindText(text);
    if (text.trim()) select(nextOf(findNodes(tree, text), selected, 0));
  };
  /** Undefined shows all of the time, until the next zoom. */
  const setZoom = useCallback((range: Stretch | undefined) => changeZoom(range ?? "all"), []);
  const latest = useRef(selected);
  latest.current = selected;
  const setOpen = useCallback((node: Node, isOpen: boolean) => {
    setClosed((ids) => changed(ids, node.span.id, isOpen));
    if (!isOpen && isBelow(latest.current, node)) setSelectedId(node.span.id);
  }, []);
  return {
    tree,
    rows,
    closed,
    selected,
    failed,
    found,
    find,
    ...scales,
    skipsIdle,
    setSkipsIdle,
    hasSheet,
    setSheet,
    select,
    setFind,
    setZoom,
    setOpen,
    setAllOpen: (isOpen: boolean) => {
      setClosed(
        new Set(isOpen ? [] : tree.nodes.filter((node) => node.children.length > 0).map(({ span }) => span.id)),
      );
      if (!isOpen && selected) setSelectedId(topOf(selected).span.id);
    },
    nextError: () => select(nextOf(failed, selected, 1)),
    nextFound: (step: number) => select(nextOf(found, selected, step)),
  };
}

interface Looked {
  selected: Node | undefined;
  zoom: Stretch | "all" | undefined;
  skipsIdle: boolean;
  lanePixels: number;
}

function useScales(
  { trace, tree, at }: Pick<Outline, "trace" | "tree" | "at">,
  { selected, zoom, skipsIdle, lanePixels }: Looked,
) {
  const extent = useMemo(() => {
    const end = trace?.ended_at ?? (trace?.status === "running" ? at : undefined);
    return extentOf(tree.nodes, end && trace ? Date.parse(end) - Date.parse(trace.started_at) : undefined);
  }, [tree, trace?.ended_at, trace?.status === "running" && at]);
  const idle = useMemo(() => idleStretches(tree, extent), [tree, extent]);
  const fold = skipsIdle ? idle : none;
  const whole = useMemo(() => createScale(extent, fold), [extent, fold]);
  const isLarge = tree.nodes.length >= minSpansToZoom;
  const narrow =
    zoom === "all" ? undefined : (zoom ?? (isLarge ? stretchAround(selected, whole, lanePixels) : undefined));
  const [from, to] = [narrow?.from ?? extent.from, narrow?.to ?? extent.to];
  const lanes = useMemo(() => createScale({ from, to }, fold), [from, to, fold]);
  return { extent, whole, lanes, isZoomed: narrow !== undefined, hasIdle: idle.length > 0 };
}

const none: readonly Stretch[] = [];

function findNodes({ nodes, byId }: Tree, text: string): Node[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const byIdFound = byId.get(wanted);
  if (byIdFound) return [byIdFound];
  const names = new Map<string, boolean>();
  const isNamed = (name: string) => {
    const known = names.get(name) ?? name.toLowerCase().includes(wanted);
    names.set(name, known);
    return known;
  };
  return nodes.filter(({ span }) => isNamed(span.name) || span.error?.toLowerCase().includes(wanted));
}

/** The node after (1), before (-1) or at and after (0) the selected one, in the order of rows; it goes around. */
function nextOf(nodes: readonly Node[], selected: Node | undefined, step: number): Node | undefined {
  const here = selected?.order ?? -1;
  if (step < 0) return nodes.findLast(({ order }) => order < here) ?? nodes.at(-1);
  return nodes.find(({ order }) => (step === 0 ? order >= here : order > here)) ?? nodes[0];
}

/** The time of the parent of a span that would be too small; undefined for all of the time. */
function stretchAround(node: Node | undefined, whole: Scale, pixels: number): Stretch | undefined {
  if (!node?.parent) return undefined;
  const { from, to } = stretchOf(node, whole.range.to);
  if ((whole.at(to) - whole.at(from)) * pixels >= minSpanPixels) return undefined;
  const parent = stretchOf(node.parent, whole.range.to);
  const range = { from: Math.min(parent.from, from), to: Math.max(parent.to, to) };
  const isWhole = range.from <= whole.range.from && range.to >= whole.range.to;
  return isWhole || range.to <= range.from ? undefined : range;
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

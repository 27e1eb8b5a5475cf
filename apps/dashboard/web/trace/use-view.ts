import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { readAddress, writeAddress } from "./address.js";
import { extentOf } from "./spans.js";
import { createScale, idleStretches, type Scale, type Stretch, stretchOf } from "./timeline.js";
import type { Node, Tree } from "./tree.js";
import type { Outline } from "./use-outline.js";
import { nextOf, useRows } from "./use-rows.js";

/** Below this many pixels the selected span is too small in a large trace: the lanes show its parent's time. */
const minSpanPixels = 4;
/** A smaller trace fits a few screens: its lanes always show everything. */
const minSpansToZoom = 200;
/** Browsers refuse more than some seven changes of the address a second. */
const addressDelayMs = 200;

export type View = ReturnType<typeof useView>;

export function useView({ trace, tree, at }: Outline, lanePixels: number) {
  const [start] = useState(readAddress);
  const [find, setFindText] = useState(start.find);
  const [zoom, changeZoom] = useState<Stretch | "all" | undefined>(start.zoom);
  const [skipsIdle, setSkipsIdle] = useState(true);
  /** Whether the details are shown where they cover a part of the page. */
  const [hasSheet, setSheet] = useState(true);
  const showSheet = useCallback(() => setSheet(true), []);

  const rows = useRows(tree, { start: start.span, first: trace?.first_failed, onSelect: showSheet });
  const { selected, selectedId, select } = rows;
  const failed = useMemo(() => tree.nodes.filter(({ span }) => span.isFailed), [tree]);
  const found = useMemo(() => findNodes(tree, find), [tree, find]);
  const scales = useScales({ trace, tree, at }, { selected, zoom, skipsIdle, lanePixels });

  const traceId = trace?.id;
  useEffect(() => {
    if (traceId === undefined) return;
    const address = { span: selectedId, find, zoom: zoom === "all" ? undefined : zoom };
    const timer = setTimeout(() => writeAddress(traceId, address), addressDelayMs);
    return () => clearTimeout(timer);
  }, [traceId, selectedId, find, zoom]);

  const setFind = (text: string) => {
    setFindText(text);
    if (text.trim()) select(nextOf(findNodes(tree, text), selected, 0));
  };
  /** Undefined shows all of the time, until the next zoom. */
  const setZoom = useCallback((range: Stretch | undefined) => changeZoom(range ?? "all"), []);
  return {
    ...rows,
    failed,
    found,
    find,
    ...scales,
    skipsIdle,
    setSkipsIdle,
    hasSheet,
    setSheet,
    setFind,
    setZoom,
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

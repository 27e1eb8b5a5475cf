import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { formatCount, formatDuration } from "../ui/format.js";
import { useMeasure } from "../ui/use-size.js";
import { type Kind, kinds } from "./kinds.js";
import { stretchOf } from "./timeline.js";
import type { Node } from "./tree.js";
import type { View } from "./use-view.js";

const height = 52;
const maxBands = 12;
/** A shorter drag is a click. */
const minDragPixels = 5;

/** The whole trace on one canvas: a band per depth, errors last. Dragging zooms, a double click shows all. */
export function Overview({ view }: { view: View }) {
  const { whole, lanes, isZoomed, tree, failed, selected, extent, setZoom } = view;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useMeasure(canvas, ({ clientWidth }) => setWidth(clientWidth));
  const theme = useTheme();
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const colors = useRef<{ theme: number; own: Colors }>(undefined);
  // After the frame with the tree: the failing span comes first.
  useEffect(() => {
    if (!canvas.current || width === 0) return;
    if (colors.current?.theme !== theme) colors.current = { theme, own: colorsOf(canvas.current) };
    draw(canvas.current, { width, colors: colors.current.own }, view);
  }, [tree, whole, width, theme]);
  const placeOf = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    return box ? Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) : 0;
  };
  const finish = () => {
    if (drag && Math.abs(drag.to - drag.from) * width >= minDragPixels) {
      const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      setZoom({ from: whole.timeAt(from), to: whole.timeAt(to) });
    }
    setDrag(undefined);
  };
  const name = `Overview: ${formatCount(tree.nodes.length)} spans in ${formatDuration(extent.to - extent.from)}, ${formatCount(failed.length)} failed`;
  const box = drag ?? (isZoomed ? { from: whole.at(lanes.range.from), to: whole.at(lanes.range.to) } : undefined);
  const at = selected && whole.at(selected.span.start);
  return (
    <div class="panel is-flush overview">
      <canvas
        ref={canvas}
        role="img"
        aria-label={name}
        style={{ height: `${height}px` }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({ from: placeOf(event), to: placeOf(event) });
        }}
        onPointerMove={(event) => drag && setDrag({ from: drag.from, to: placeOf(event) })}
        onPointerUp={finish}
        onPointerCancel={() => setDrag(undefined)}
        onDblClick={() => setZoom(undefined)}
      />
      {box && (
        <div
          class="overview-zoom"
          style={{ left: `${Math.min(box.from, box.to) * 100}%`, width: `${Math.abs(box.to - box.from) * 100}%` }}
        />
      )}
      {at !== undefined && <div class="overview-selected" style={{ left: `${at * 100}%` }} />}
    </div>
  );
}

/** Changes with the theme: a canvas does not follow it by itself. */
function useTheme(): number {
  const [theme, change] = useReducer((count: number, _: unknown) => count + 1, 0);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", change);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      dark.removeEventListener("change", change);
      observer.disconnect();
    };
  }, []);
  return theme;
}

type Colors = Readonly<Record<Kind | "error", string>>;

const paints: readonly { color: keyof Colors; isParent: boolean }[] = [
  ...kinds.map((color) => ({ color, isParent: true })),
  ...kinds.map((color) => ({ color, isParent: false })),
  { color: "error", isParent: false },
];

/** The colours of the theme: a canvas knows no custom properties. */
function colorsOf(canvas: HTMLCanvasElement): Colors {
  const colorOf = (token: keyof Colors) => {
    canvas.style.color = `var(--${token})`;
    return [token, getComputedStyle(canvas).color] as const;
  };
  return Object.fromEntries([...kinds, "error" as const].map(colorOf)) as Colors;
}

/** Draws each pixel of a band once, however many spans lie there: leaves over their parents, errors over all. */
function draw(canvas: HTMLCanvasElement, { width, colors }: { width: number; colors: Colors }, view: View): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = devicePixelRatio || 1;
  const columns = Math.round(width * ratio);
  canvas.width = columns;
  canvas.height = height * ratio;
  context.scale(1, ratio);
  const bands = Math.min(maxBands, view.tree.maxDepth + 1);
  const band = (height - 4) / bands;
  const cells = cellsOf(view, { columns, bands, leastError: Math.round(2 * ratio) });
  for (const [at, paint] of paints.entries()) {
    context.globalAlpha = paint.isParent ? 0.35 : 1;
    context.fillStyle = colors[paint.color];
    for (let row = 0; row < bands; row++) {
      const [first, end] = [row * columns, (row + 1) * columns];
      for (let from = cells.indexOf(at + 1, first); from !== -1 && from < end; ) {
        let to = from + 1;
        while (to < end && cells[to] === at + 1) to++;
        context.fillRect(from - first, 2 + row * band, to - from, Math.max(1, band - 1));
        from = cells.indexOf(at + 1, to);
      }
    }
  }
}

/** The paint of each cell, from 1; 0 is empty. */
function cellsOf(
  { tree, whole, failed, extent }: View,
  { columns, bands, leastError }: { columns: number; bands: number; leastError: number },
): Uint8Array {
  const cells = new Uint8Array(columns * bands);
  const fill = (node: Node, least: number) => {
    const { from, to } = stretchOf(node, extent.to);
    const ofKind = kinds.indexOf(node.span.kind) + (node.children.length > 0 ? 0 : kinds.length);
    const paint = node.span.isFailed ? paints.length - 1 : ofKind;
    const start = Math.max(0, Math.min(Math.floor(whole.at(from) * columns), columns - least));
    const end = Math.max(start + least, Math.round(whole.at(to) * columns));
    const first = Math.min(node.depth, bands - 1) * columns;
    cells.fill(paint + 1, first + start, first + Math.min(columns, end));
  };
  const shown = tree.nodes.filter(({ span }) => !span.isFailed);
  for (const node of shown) if (node.children.length > 0) fill(node, 1);
  for (const node of shown) if (node.children.length === 0) fill(node, 1);
  for (const node of failed) fill(node, leastError);
  return cells;
}

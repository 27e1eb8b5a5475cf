import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { formatCount, formatDuration } from "../ui/format.js";
import { kinds } from "./kinds.js";
import { stretchOf } from "./timeline.js";
import type { View } from "./use-view.js";

const height = 52;
const maxBands = 12;
/** A shorter drag is a click. */
const minDragPixels = 5;

/** The whole trace on one canvas: a band per depth, errors last. Dragging zooms, a double click shows all. */
export function Overview({ view }: { view: View }) {
  const { whole, lanes, isZoomed, tree, failed, selected, extent, setZoom } = view;
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const theme = useTheme();
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  useLayoutEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, width, view);
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
    <div class="overview">
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

function useWidth(ref: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
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

function colorOf(canvas: HTMLCanvasElement, token: string): string {
  canvas.style.color = `var(--${token})`;
  return getComputedStyle(canvas).color;
}

function draw(canvas: HTMLCanvasElement, width: number, { tree, whole, failed, extent }: View): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  const colors = new Map(kinds.map((kind) => [kind, colorOf(canvas, kind)]));
  const red = colorOf(canvas, "error");
  const bands = Math.min(maxBands, tree.maxDepth + 1);
  const band = (height - 4) / bands;
  const fill = (node: (typeof tree.nodes)[number], least: number) => {
    const { from, to } = stretchOf(node, extent.to);
    const x = whole.at(from) * width;
    const y = 2 + Math.min(node.depth, bands - 1) * band;
    context.fillRect(Math.min(x, width - least), y, Math.max(least, whole.at(to) * width - x), Math.max(1, band - 1));
  };
  for (const node of tree.nodes) {
    if (node.span.isFailed) continue;
    context.globalAlpha = node.children.length > 0 ? 0.35 : 1;
    context.fillStyle = colors.get(node.span.kind) ?? "";
    fill(node, 1);
  }
  context.globalAlpha = 1;
  context.fillStyle = red;
  for (const node of failed) fill(node, 2);
}

import { stretchOf } from "./timeline.js";
import { rowOf } from "./tree.js";
import type { RowsView } from "./use-rows.js";
import type { View } from "./use-view.js";

/** `openDetails` moves the focus to the span's details, `hideDetails` from there back to the tree. */
type Command =
  | "focusFind"
  | "openNext"
  | "openPrevious"
  | "openComparison"
  | "openScores"
  | "openHelp"
  | "openDetails"
  | "hideDetails";

const page = 15;

export function moveByKey(key: string, view: RowsView): boolean {
  const { rows, selected, closed, select, setOpen } = view;
  if (!selected) return false;
  const at = rowOf(rows, selected);
  const step = (by: number) => select(rows[Math.min(rows.length - 1, Math.max(0, at + by))]);
  const isClosed = closed.has(selected.span.id);
  const isOpen = selected.children.length > 0 && !isClosed;
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    PageDown: () => step(page),
    PageUp: () => step(-page),
    Home: () => select(rows[0]),
    End: () => select(rows.at(-1)),
    ArrowLeft: () => (isOpen ? setOpen(selected, false) : select(selected.parent)),
    ArrowRight: () => (isClosed ? setOpen(selected, true) : select(selected.children[0])),
  };
  const move = moves[key];
  move?.();
  return move !== undefined;
}

const letters: Readonly<Record<string, string>> = { j: "ArrowDown", k: "ArrowUp", h: "ArrowLeft", l: "ArrowRight" };

function zoomToSpan({ selected, extent, isZoomed, lanes, setZoom }: View): void {
  if (!selected) return;
  const { from, to } = stretchOf(selected, extent.to);
  const isThere = isZoomed && lanes.range.from === from && lanes.range.to === to;
  setZoom(isThere || to <= from ? undefined : { from, to });
}

export function takeKey(
  { key, target }: KeyboardEvent,
  view: View,
  commands: Readonly<Record<Command, () => unknown>>,
): boolean {
  const own: Readonly<Record<string, () => unknown>> = {
    e: view.nextError,
    f: () => zoomToSpan(view),
    c: commands.openComparison,
    s: commands.openScores,
    "/": commands.focusFind,
    "[": commands.openPrevious,
    "]": commands.openNext,
    "?": commands.openHelp,
    Escape: commands.hideDetails,
    ...(isAtTree(target) && { Enter: commands.openDetails }),
  };
  if (!own[key]) return moveOnPage(key, target, view);
  own[key]?.();
  return true;
}

/** Letters move from anywhere, arrows where nothing else takes them. */
export function moveOnPage(key: string, target: EventTarget | null, view: RowsView): boolean {
  const letter = letters[key];
  return letter ? moveByKey(letter, view) || true : isFree(target) && moveByKey(key, view);
}

/** The page itself, or its heading, which has the focus after a navigation. */
const isFree = (target: EventTarget | null) => target === document.body || target instanceof HTMLHeadingElement;

export const isAtTree = (target: EventTarget | null) =>
  isFree(target) || (target instanceof Element && target.role === "tree");

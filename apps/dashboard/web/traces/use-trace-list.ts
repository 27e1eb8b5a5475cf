import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { api } from "../data/api.js";
import { hasAnswer } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { activeFilters, type Filters, isOpenEnded, pathOf, writeFilters } from "./filters.js";
import { createTraceList, type TraceListState } from "./trace-list.js";

const pollMs = 2_000;
/** After {@link quietMs} without a change. */
const slowPollMs = 10_000;
const quietMs = 120_000;
/** A list that a person comes back to is shown as it was within this time. */
const keptMs = 300_000;

/** The last list with its place, for the way back from a trace. */
let kept: { key: string; state: TraceListState; scrollY: number; at: number } | undefined;

/** Keeps the list and its place; the page of a trace finds the next one by `waymark:list`. */
function keep(key: string, state: TraceListState, y: number): void {
  kept = { key, state, scrollY: y, at: Date.now() };
  sessionStorage.setItem("waymark:list", JSON.stringify(state.rows.map(({ id }) => id)));
}

/** The traces of the filters, kept up to date while the tab is visible. */
export function useTraceList(filters: Filters, table: { current: HTMLElement | null }) {
  const [, update] = useReducer((count: number, _: undefined) => count + 1, 0);
  const key = writeFilters(filters);
  const held = useRef<TraceListState | undefined>(undefined);
  const list = useMemo(() => {
    const isFresh = kept?.key === key && Date.now() - kept.at < keptMs;
    held.current = isFresh && kept ? kept.state : undefined;
    return createTraceList(
      {
        get: api.get,
        pathOf: (cursor) => pathOf(filters, new Date(), cursor === undefined ? {} : { cursor }),
        takesAll: isOpenEnded(filters) && activeFilters({ ...filters, range: "", after: "" }).length === 0,
        isFromStart: filters.after === "",
        idsOnScreen: () => idsOnScreen(table.current, held.current?.rows ?? []),
        mayMove: () => scrollY < 8 && !table.current?.contains(document.activeElement),
        announce,
        update: (state) => {
          held.current = state;
          hasAnswer.value = true;
          update(undefined);
        },
      },
      held.current,
    );
  }, [key]);
  useEffect(() => {
    if (held.current && kept) scrollTo(0, kept.scrollY);
    let y = scrollY;
    const note = () => {
      y = scrollY;
    };
    addEventListener("scroll", note, { passive: true });
    const stop = keepPolling(list.poll);
    return () => {
      stop();
      removeEventListener("scroll", note);
      if (held.current?.isLoaded) keep(key, held.current, y);
    };
  }, [list]);
  return { state: held.current, list };
}

/** Polls at once, then in steps while the tab is visible, and at once when it becomes visible again. */
function keepPolling(poll: () => Promise<boolean>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastChange = Date.now();
  let isStopped = false;
  const step = async () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") return;
    if (await poll()) lastChange = Date.now();
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(step, Date.now() - lastChange > quietMs ? slowPollMs : pollMs);
  };
  const onVisible = () => {
    if (document.visibilityState !== "visible") return;
    lastChange = Date.now();
    void step();
  };
  document.addEventListener("visibilitychange", onVisible);
  void step();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}

const maxIds = 100;

/** Up to 100 rows from the one at the window's top, found by the rows' mean height. */
function idsOnScreen(table: HTMLElement | null, rows: readonly { id: string }[]): string[] {
  if (!table || rows.length <= maxIds) return rows.map(({ id }) => id);
  const { top, height } = table.getBoundingClientRect();
  const first = Math.floor((-top / Math.max(1, height)) * rows.length) - 20;
  const start = Math.max(0, Math.min(first, rows.length - maxIds));
  return rows.slice(start, start + maxIds).map(({ id }) => id);
}

import { useEffect, useLayoutEffect, useMemo, useReducer } from "preact/hooks";
import { api } from "../data/api.js";
import { hasAnswer } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { zone } from "../ui/preferences.js";
import { activeFilters, type Filters, isOpenEnded, isSearch, pathOf, writeFilters } from "./filters.js";
import { createKeptLists, entryId, type Place } from "./kept-lists.js";
import { createTraceList, type TraceListState } from "./trace-list.js";

const pollMs = 2_000;
/** After {@link quietMs} without a change. */
const slowPollMs = 10_000;
const quietMs = 120_000;
/** Rows of a page, and of one on the way back to a place after a reload: the API's most. */
const [pageRows, wayBackRows] = [50, 200];

const kept = createKeptLists(() => sessionStorage);

interface Shown {
  key: string;
  list: ReturnType<typeof createTraceList>;
  state: TraceListState | undefined;
  /** Where to scroll, until it is done. */
  wanted: Place | undefined;
}

/** The traces of the filters, kept up to date while the tab is visible. Back, Forward and a reload lead to the same place. */
export function useTraceList(filters: Filters, include: string, table: { current: HTMLElement | null }) {
  const [, update] = useReducer((count: number, _: undefined) => count + 1, 0);
  const filterKey = `${writeFilters({ ...filters, columns: include })} ${zone.value}`;
  const shown = useMemo(() => {
    const key = `${entryId()} ${filterKey}`;
    const [state, wanted] = [kept.stateOf(key), kept.placeOf(key)];
    const deps = {
      get: api.get,
      pathOf: (cursor: string | undefined) =>
        pathOf(filters, new Date(), {
          limit: shown.wanted ? wayBackRows : pageRows,
          include,
          ...(cursor && { cursor }),
        }),
      include,
      takesAll: isOpenEnded(filters) && activeFilters({ ...filters, range: "", after: "" }).length === 0,
      isSearch: isSearch(filters),
      isFromStart: filters.after === "",
      idsOnScreen: () => idsOnScreen(table.current, shown.state?.rows ?? []),
      mayMove: () => !shown.wanted && scrollY < 8 && !table.current?.contains(document.activeElement),
      announce,
      update: (next: TraceListState) => {
        shown.state = next;
        hasAnswer.value = true;
        update(undefined);
      },
    };
    const shown: Shown = { key, list: createTraceList(deps, state), state, wanted };
    return shown;
  }, [filterKey]);
  useEffect(() => keepPolling(shown.list.poll), [shown]);
  useKeptPlace(shown, table);
  return { state: shown.state, list: shown.list };
}

/** Scrolls to the wanted place, and keeps the list and its place when the person leaves. */
function useKeptPlace(shown: Shown, table: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const entry = entryId();
    // Else the browser scrolls by itself, before the rows are there.
    history.scrollRestoration = "manual";
    if (!shown.wanted) scrollTo(0, 0);
    // A page left before the frame that tells of its scrolling keeps the place it came with.
    let at: Omit<Place, "rows"> = shown.wanted ?? { id: "", top: 0, scrollY: 0 };
    const note = () => {
      // A navigation is at the next entry already when it scrolls to its own top.
      if (history.state?.entry === entry) at = { ...rowInSight(table.current), scrollY };
    };
    const keepPlace = () => {
      const { state, wanted, key } = shown;
      if (state?.isLoaded && !wanted) kept.keepPlace(key, { ...at, rows: state.rows.length });
    };
    const giveUp = () => {
      shown.wanted = undefined;
    };
    addEventListener("scroll", note, { passive: true });
    addEventListener("pagehide", keepPlace);
    for (const act of acts) addEventListener(act, giveUp, { passive: true });
    return () => {
      removeEventListener("scroll", note);
      removeEventListener("pagehide", keepPlace);
      for (const act of acts) removeEventListener(act, giveUp);
      history.scrollRestoration = "auto";
      keepPlace();
      if (!shown.state?.isLoaded) return;
      kept.keepState(shown.key, shown.state);
      // The page of a trace finds the next one by it.
      sessionStorage.setItem("waymark:list", JSON.stringify(shown.state.rows.map(({ id }) => id)));
    };
  }, [shown]);
  useLayoutEffect(() => {
    const { state, wanted, list } = shown;
    if (!wanted || !state?.isLoaded) return;
    const isWhole = state.cursor === null || state.rows.length >= wanted.rows;
    if (scrollToPlace(wanted, table.current) || isWhole) shown.wanted = undefined;
    // After an error the next poll that is answered goes on.
    else if (!state.error) void list.more();
  });
}

/** After one of them a person wants to be elsewhere. */
const acts = ["wheel", "touchmove", "keydown", "pointerdown"];

function rowInSight(table: HTMLElement | null): Pick<Place, "id" | "top"> {
  const rows = table?.getElementsByClassName("trace-row") ?? [];
  const topOf = (at: number) => rows[at]?.getBoundingClientRect().top ?? 0;
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (topOf(middle) < 0) from = middle + 1;
    else to = middle;
  }
  return { id: rows[from]?.getAttribute("data-id") ?? "", top: topOf(from) };
}

/** Returns whether the row is where it was; the list may be too short yet. */
function scrollToPlace({ id, top, scrollY: y }: Place, table: HTMLElement | null): boolean {
  const row = table?.querySelector(`[data-id="${CSS.escape(id)}"]`);
  // At its top a list shows what is new.
  if (y < 8 || !row) scrollTo(0, y);
  else scrollBy(0, row.getBoundingClientRect().top - top);
  return y < 8 || (row !== null && row !== undefined && Math.abs(row.getBoundingClientRect().top - top) < 2);
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

import type { TraceChangesAnswer, TraceList, TraceRow } from "../../src/traces/traces.route.js";
import { type ApiError, toApiError } from "../data/api.js";
import { appendRows, changeRows, insertRows, isFailed, newestId } from "./rows.js";

/** Rows in the document at most; older ones are on a page of their own. */
export const maxRows = 1_000;
/** Traces that wait behind the button, at most; more of them load with the list. */
const maxWaiting = 200;

export interface TraceListState {
  rows: readonly TraceRow[];
  /** Null at the end of the list. */
  cursor: string | null;
  /** New traces that would move the rows. */
  waiting: readonly TraceRow[];
  hasMoreWaiting: boolean;
  isLoaded: boolean;
  isLoadingMore: boolean;
  /** Whether the last question for changes was answered. */
  isLive: boolean;
  error: ApiError | undefined;
}

export interface TraceListDeps {
  get<T>(path: string): Promise<T>;
  pathOf(cursor: string | undefined): string;
  /** Parts of the rows, as in the list's path; empty for the usual ones. */
  include: string;
  /** Whether a new trace belongs to the list by itself; otherwise the first page tells. */
  takesAll: boolean;
  /** Whether the server looks into contents: that takes long. */
  isSearch: boolean;
  /** Whether the list begins at its newest trace. */
  isFromStart: boolean;
  /** Ids of rows on the screen, 100 at most. */
  idsOnScreen(): string[];
  /** Whether new rows may come in without moving what a person looks at. */
  mayMove(): boolean;
  announce(text: string): void;
  update(state: TraceListState): void;
}

const empty: TraceListState = {
  rows: [],
  cursor: null,
  waiting: [],
  hasMoreWaiting: false,
  isLoaded: false,
  isLoadingMore: false,
  isLive: false,
  error: undefined,
};

function createStore(deps: TraceListDeps, kept: TraceListState | undefined) {
  let state: TraceListState = kept ? { ...kept, isLoadingMore: false } : empty;
  const set = (change: Partial<TraceListState>) => {
    state = { ...state, ...change };
    deps.update(state);
  };
  return {
    get state() {
      return state;
    },
    set,
    reset: (page: TraceList) =>
      set({ ...empty, rows: page.traces, cursor: page.nextCursor, isLoaded: true, isLive: true }),
    /** Takes new rows in where they move nothing, else keeps them behind the button. Returns whether any is new. */
    arrive(rows: readonly TraceRow[], hasMore: boolean): boolean {
      const known = new Set([...state.rows, ...state.waiting].map(({ id }) => id));
      const unknown = rows.filter(({ id }) => !known.has(id));
      // Below the last row it belongs to a later page.
      const shown = new Set(insertRows(state.rows, unknown, state.cursor !== null));
      const added = unknown.filter((row) => shown.has(row));
      if (added.length === 0) return false;
      deps.announce(sentence(added, hasMore));
      const mayMove = deps.mayMove() && !hasMore && state.waiting.length === 0;
      if (state.rows.length === 0 || mayMove) {
        set({ rows: insertRows(state.rows, added, state.cursor !== null).slice(0, maxRows) });
        return true;
      }
      const waiting = insertRows(state.waiting, added, false);
      const isTooMuch = waiting.length > maxWaiting;
      set({ waiting: waiting.slice(0, maxWaiting), hasMoreWaiting: state.hasMoreWaiting || hasMore || isTooMuch });
      return true;
    },
  };
}

type Store = ReturnType<typeof createStore>;

function createChangesReader(deps: TraceListDeps, store: Store) {
  let since: string | undefined;
  let asked = new Set<string>();
  return async function readChanges(): Promise<boolean> {
    const { rows, waiting } = store.state;
    const query = new URLSearchParams();
    const after = deps.takesAll && deps.isFromStart ? newestId([...rows, ...waiting]) : undefined;
    if (after !== undefined) query.set("after", after);
    const ids = deps.idsOnScreen();
    query.set("ids", ids.join());
    if (deps.include !== "") query.set("include", deps.include);
    if (since !== undefined && ids.every((id) => asked.has(id))) query.set("since", since);
    const answer = await deps.get<TraceChangesAnswer>(`/traces/changes?${query}`);
    since = answer.at;
    asked = new Set(ids);
    const before = store.state.rows;
    const changed = changeRows(before, answer.changed, answer.gone);
    if (changed !== before) {
      const failed = newlyFailed(before, changed);
      if (failed.length > 0) deps.announce(`Failed: ${failed.map(({ name }) => name).join(", ")}`);
      store.set({ rows: changed });
    }
    return store.arrive(answer.created, answer.hasMore) || changed !== before;
  };
}

/** Reads the first page again: with filters it knows the new traces, and a list without rows has no id to go on from. */
async function readFirstPage(deps: TraceListDeps, store: Store): Promise<boolean> {
  const page = await deps.get<TraceList>(deps.pathOf(undefined));
  const { rows, waiting } = store.state;
  if (rows.length === 0) store.set({ cursor: page.nextCursor });
  const known = new Set([...rows, ...waiting].map(({ id }) => id));
  const isBurst = rows.length > 0 && page.nextCursor !== null && !page.traces.some(({ id }) => known.has(id));
  return store.arrive(page.traces, isBurst);
}

/** A filtered list reads its first page with every fifth poll, a search seldom. */
const pollsPerFirstPage = 5;
const pollsPerSearch = 30;

export function createTraceList(deps: TraceListDeps, kept?: TraceListState) {
  const store = createStore(deps, kept);
  const readChanges = createChangesReader(deps, store);
  let polls = 0;
  let isPolling = false;
  const wantsFirstPage = () => {
    const { rows, cursor } = store.state;
    if (!deps.isFromStart || (rows.length === 0 && cursor !== null)) return false;
    if (deps.isSearch) return polls % pollsPerSearch === pollsPerSearch - 1;
    return rows.length === 0 || (!deps.takesAll && polls % pollsPerFirstPage === 0);
  };

  async function load(): Promise<void> {
    await deps
      .get<TraceList>(deps.pathOf(undefined))
      .then(store.reset, (error) => store.set({ error: toApiError(error), isLive: false }));
  }
  async function ask(): Promise<boolean> {
    if (!store.state.isLoaded) {
      await load();
      return store.state.isLoaded;
    }
    const hasNew = wantsFirstPage() && (await readFirstPage(deps, store));
    const hasChanged = store.state.rows.length > 0 && (await readChanges());
    polls++;
    if (!store.state.isLive || store.state.error) store.set({ isLive: true, error: undefined });
    return hasNew || hasChanged;
  }

  return {
    load,
    async more(): Promise<void> {
      const { cursor, isLoadingMore, rows } = store.state;
      if (cursor === null || isLoadingMore || rows.length >= maxRows) return;
      store.set({ isLoadingMore: true });
      await deps.get<TraceList>(deps.pathOf(cursor)).then(
        ({ traces, nextCursor }) =>
          store.set({ rows: appendRows(store.state.rows, traces), cursor: nextCursor, isLoadingMore: false }),
        (error) => store.set({ error: toApiError(error), isLoadingMore: false }),
      );
    },
    async poll(): Promise<boolean> {
      if (isPolling || store.state.isLoadingMore) return false;
      isPolling = true;
      try {
        return await ask();
      } catch {
        store.set({ isLive: false });
        return false;
      } finally {
        isPolling = false;
      }
    },
    async showWaiting(): Promise<void> {
      const { hasMoreWaiting, rows, waiting, cursor } = store.state;
      if (hasMoreWaiting) return load();
      store.set({ rows: insertRows(rows, waiting, cursor !== null).slice(0, maxRows), waiting: [] });
    },
  };
}

function newlyFailed(before: readonly TraceRow[], after: readonly TraceRow[]): TraceRow[] {
  const healthy = new Set(before.filter((row) => !isFailed(row)).map(({ id }) => id));
  return after.filter((row) => isFailed(row) && healthy.has(row.id));
}

/** `2 new traces, 1 failed` */
function sentence(rows: readonly TraceRow[], hasMore: boolean): string {
  const failed = rows.filter(isFailed).length;
  const count = `${rows.length}${hasMore ? " or more" : ""} new ${rows.length === 1 ? "trace" : "traces"}`;
  return failed === 0 ? count : `${count}, ${failed} failed`;
}

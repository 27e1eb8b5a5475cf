import { signal } from "@preact/signals";
import { keepPreviousData, QueryCache, QueryClient, QueryObserver } from "@tanstack/query-core";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Me } from "../../src/session/me.route.js";
import { announce } from "../ui/announce.js";
import { ApiError, api, toApiError } from "./api.js";

/** Whether any query was answered: requests of the frame wait for it, so that the page's own come first. */
export const hasAnswer = signal(false);

const awayPollMs = 3_000;
const failedPollMs = 10_000;

/** Leaves requests under way alone. */
const inFlight = { cancelRefetch: false };

const client = new QueryClient({
  queryCache: new QueryCache({
    onSettled: () => {
      hasAnswer.value = true;
    },
  }),
  defaultOptions: {
    queries: { retry: false, networkMode: "always", staleTime: 1_000, refetchOnWindowFocus: true },
    mutations: { retry: false, networkMode: "always" },
  },
});

export interface QueryOptions {
  /** Asks again this often while the tab is visible. */
  pollMs?: number | undefined;
  /** Shows the last path's data while another path's loads. */
  keepPrevious?: boolean;
  /** How long data counts as fresh: a page that opens within it sends no request. */
  staleMs?: number;
}

export interface QueryState<T> {
  data: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  isPrevious: boolean;
  /** Asks anew, also for everything else on the page that failed. */
  refetch(): void;
}

/**
 * Reads a path of `/dashboard/api` and keeps up with it. Components with the same path share one request; stale data are
 * shown while new ones load. No path, no request.
 */
export function useQuery<T>(path: string | undefined, options: QueryOptions = {}): QueryState<T> {
  const [, update] = useReducer((count: number, _: undefined) => count + 1, 0);
  const { pollMs, keepPrevious, staleMs } = options;
  const wanted = client.defaultQueryOptions<T, Error, T, T, readonly string[]>({
    queryKey: [path ?? ""],
    queryFn: ({ signal }) => api.get<T>(path ?? "", signal),
    enabled: path !== undefined,
    refetchInterval: ({ state: { error } }) => {
      if (!(error instanceof ApiError) || (!error.isAway && error.status < 500)) return pollMs;
      const againMs = error.isAway ? awayPollMs : failedPollMs;
      return Math.min(pollMs ?? againMs, againMs);
    },
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(staleMs === undefined ? {} : { staleTime: staleMs }),
  });
  wanted._optimisticResults = "optimistic";
  const [observer] = useState(() => new QueryObserver<T, Error, T, T, readonly string[]>(client, wanted));
  const result = observer.getOptimisticResult(wanted);
  // Before the paint, so that the request goes out at once.
  useLayoutEffect(() => observer.subscribe(() => update(undefined)), [observer]);
  useLayoutEffect(() => observer.setOptions(wanted), [observer, path, pollMs, keepPrevious, staleMs]);
  return {
    data: result.data,
    error: result.error ? toApiError(result.error) : undefined,
    isLoading: result.isPending && result.isFetching,
    isPrevious: result.isPlaceholderData,
    refetch: () => {
      void observer.refetch();
      void client.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" }, inFlight);
    },
  };
}

/** Asks anew for every path that starts so, now where it is shown, else when it is shown next. */
export function invalidate(...prefixes: readonly string[]): void {
  void client.invalidateQueries({
    predicate: ({ queryKey }) => prefixes.some((prefix) => String(queryKey[0]).startsWith(prefix)),
  });
}

export interface ActionOptions<Output> {
  invalidates?: readonly string[];
  /** Screen readers say it after the work. */
  says?: string | undefined;
  onDone?(output: Output): void;
}

/**
 * A write: `isBusy` while under way, `error` where it failed, `output` of the last one that did not, and the paths it changes
 * asked anew. One run at a time.
 */
export function useAction<Output, Input = void>(
  work: (input: Input) => Promise<Output>,
  { invalidates = [], says, onDone }: ActionOptions<Output> = {},
) {
  const [error, setError] = useState<ApiError>();
  const [output, setOutput] = useState<Output>();
  const [isBusy, setBusy] = useState(false);
  const isRunning = useRef(false);
  const run = async (input: Input) => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setError(undefined);
    try {
      const output = await work(input);
      invalidate(...invalidates);
      setOutput(() => output);
      if (says !== undefined) announce(says);
      onDone?.(output);
    } catch (error) {
      setError(toApiError(error));
    } finally {
      setBusy(false);
      isRunning.current = false;
    }
  };
  return { isBusy, error, output, run: (input: Input): void => void run(input) };
}

/** The query of the page after one of a list with a cursor; undefined after the last. */
export function nextByCursor({ next_cursor: cursor }: { next_cursor: string | null }): string | undefined {
  return cursor === null ? undefined : `cursor=${encodeURIComponent(cursor)}`;
}

/** The items of a list's first page and of the later ones that a person asked for. Another path begins anew. */
export function usePages<Page, Item extends { id: string }>(
  path: string,
  first: Page | undefined,
  { itemsOf, nextOf }: { itemsOf: (page: Page) => readonly Item[]; nextOf: (page: Page) => string | undefined },
) {
  const [later, setLater] = useState<readonly Page[]>([]);
  useEffect(() => setLater([]), [path]);
  const pages = first === undefined ? [] : [first, ...later];
  const last = pages.at(-1);
  const next = last && nextOf(last);
  const load = useAction(async () => {
    const page = await api.get<Page>(`${path}${path.includes("?") ? "&" : "?"}${next}`);
    setLater([...later, page]);
  });
  // The first page grows at its head, and so may overlap with later ones.
  const known = new Set<string>();
  const isNew = ({ id }: Item) => !known.has(id) && known.add(id);
  return {
    items: first && pages.flatMap(itemsOf).filter(isNew),
    hasMore: next !== undefined,
    isLoading: load.isBusy,
    more: () => load.run(),
    clear: () => setLater([]),
  };
}

/** The person, the account and the addresses shown in examples. */
export function useMe(isWanted = true): QueryState<Me> {
  return useQuery<Me>(isWanted ? "/me" : undefined, { staleMs: 60_000 });
}

/** Whether the person may change things here; false until that is known. */
export function useMayChange(): boolean {
  const role = useMe().data?.role;
  return role !== undefined && role !== "viewer";
}

import type { OutlinePage, OutlineTrace } from "@waymark/traces";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, api } from "../data/api.js";
import { invalidate, useQuery } from "../data/query.js";
import { addPage, type Span } from "./spans.js";

const pollMs = 2_000;
/** Unfinished spans to ask for again, the latest first. */
const maxIds = 100;
/** Instances commit out of order: the latest spans are asked for again. */
const overlap = 50;

export interface Outline {
  trace: OutlineTrace | undefined;
  /** A new map after each change. */
  spans: ReadonlyMap<string, Span>;
  /** The server's time of the last answer. */
  at: string;
  /** Whether further pages are on their way. */
  isPartial: boolean;
  error: ApiError | undefined;
  refetch(): void;
}

interface Loaded {
  id: string;
  trace: OutlineTrace;
  at: string;
  spans: ReadonlyMap<string, Span>;
  isPartial: boolean;
}

/** The outline of a trace: its first page at once, then the others; while it runs, what changes of it. */
export function useOutline(id: string): Outline {
  const path = `/traces/${id}/outline`;
  const { data, error, refetch } = useQuery<OutlinePage>(path, { staleMs: Number.POSITIVE_INFINITY });
  const first = useMemo(() => data && firstOf(id, data), [id, data]);
  const [more, setMore] = useState<Loaded>();
  const current = more?.id === id && more.spans.size >= (first?.spans.size ?? 0) ? more : first;
  const latest = useRef(current);
  latest.current = current;

  useEffect(() => {
    if (!data) return;
    const { signal, abort } = abortable();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async (next: string | null) => {
      let pages: OutlinePage[] = [];
      for (let after = next; after !== null && latest.current; ) {
        const page = await api.get<OutlinePage>(`${path}?after=${after}`, signal);
        pages.push(page);
        after = page.next;
        if (after !== null && isFew(pages, latest.current)) continue;
        // Reading the answer and building the tree are two tasks, so that a key waits for one of them only.
        await new Promise((resolve) => setTimeout(resolve));
        if (signal.aborted) return;
        setMore(merge(latest.current, pages, after !== null));
        pages = [];
      }
      if (latest.current?.trace.status === "running") timer = setTimeout(() => void poll(), pollMs);
    };
    const poll = async () => {
      if (document.hidden || !latest.current) {
        timer = setTimeout(() => void poll(), pollMs);
        return;
      }
      const page = await api.get<OutlinePage>(path + deltaOf(latest.current.spans), signal).catch(() => undefined);
      if (signal.aborted) return;
      if (page && latest.current) setMore(merge(latest.current, [page], page.next !== null));
      await load(page?.next ?? null).catch(() => undefined);
    };
    void load(data.next).catch(() => undefined);
    return () => {
      abort();
      clearTimeout(timer);
      if (latest.current?.trace.status === "running") invalidate(path);
    };
  }, [path, data]);

  return {
    trace: current?.trace,
    at: current?.at ?? "",
    spans: current?.spans ?? nothing,
    isPartial: current?.isPartial ?? false,
    error: data ? undefined : error,
    refetch,
  };
}

const nothing: ReadonlyMap<string, Span> = new Map();

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

function firstOf(id: string, page: OutlinePage): Loaded {
  const spans = new Map<string, Span>();
  addPage(spans, page);
  return { id, trace: page.trace, at: page.at, spans, isPartial: page.next !== null };
}

/** Each building of the tree at least doubles it: many pages cost no more than twice the last one. */
function isFew(pages: readonly OutlinePage[], { spans }: Loaded): boolean {
  return pages.reduce((sum, { id }) => sum + id.length, 0) < spans.size;
}

/** The map stays the same where the pages change nothing. */
function merge(loaded: Loaded, pages: readonly OutlinePage[], isPartial: boolean): Loaded {
  const spans = new Map(loaded.spans);
  let [{ trace, at }, isChanged]: [Pick<Loaded, "trace" | "at">, boolean] = [loaded, false];
  for (const page of pages) {
    if (addPage(spans, page)) isChanged = true;
    trace = { ...trace, ...page.trace };
    at = page.at;
  }
  return { ...loaded, trace, at, spans: isChanged ? spans : loaded.spans, isPartial };
}

function deltaOf(spans: ReadonlyMap<string, Span>): string {
  const all = [...spans.values()];
  const after = all.at(-1 - Math.min(overlap, all.length - 1));
  const unfinished = all.filter(({ end }) => end === undefined).slice(-maxIds);
  const ids = unfinished.map(({ id }) => id).join(",");
  return all.length === 0 ? "" : `?after=${after?.id}${ids && `&ids=${ids}`}`;
}

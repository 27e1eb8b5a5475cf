import type { OutlinePage, OutlineTrace } from "@waymark/traces";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../data/api.js";
import { queryOf } from "../data/paths.js";
import { invalidate, type QueryState, useQuery } from "../data/query.js";
import { addPage, type Span } from "./spans.js";
import { buildTree, type Tree } from "./tree.js";

const pollMs = 2_000;
/** Unfinished spans to ask for again, the latest first. */
const maxIds = 100;
/** Instances commit out of order: the latest spans are asked for again. */
const overlap = 50;

interface Loaded {
  id: string;
  trace: OutlineTrace;
  at: string;
  spans: ReadonlyMap<string, Span>;
  tree: Tree;
  isPartial: boolean;
}

export interface Outline
  extends Pick<Loaded, "tree" | "at" | "isPartial">,
    Pick<QueryState<unknown>, "error" | "refetch"> {
  trace: OutlineTrace | undefined;
}

/**
 * The outline of a trace: its first page at once, then the others; while it runs, what changes of it.
 * @param id the path of the trace's data
 */
export function useOutline(id: string, include?: "digests"): Outline {
  const pathOf = (query: Delta = {}) => `${id}/outline${queryOf({ include, ...query })}`;
  const path = pathOf();
  const { data, error, refetch } = useQuery<OutlinePage>(path, { staleMs: Number.POSITIVE_INFINITY });
  const [shown, show] = useState<Loaded>();
  const current = shown?.id === id ? shown : undefined;
  const latest = useRef(current);
  latest.current = current;

  useEffect(() => {
    if (!data) return;
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let loaded = latest.current ?? { id, trace: data.trace, at: data.at, ...nothing };
    const add = async (pages: readonly OutlinePage[]) => {
      // Tasks of their own, so that a key waits for one of them only.
      await nextTask();
      const merged = merge(loaded, pages);
      await nextTask();
      const tree = merged.spans === loaded.spans ? loaded.tree : buildTree(merged.spans.values());
      await nextTask();
      if (signal.aborted) return;
      loaded = { ...merged, tree };
      show(loaded);
    };
    const load = async (next: string | null) => {
      let pages: OutlinePage[] = [];
      for (let after = next; after !== null && !signal.aborted; ) {
        const page = await api.get<OutlinePage>(pathOf({ after }), signal);
        pages.push(page);
        after = page.next;
        if (after !== null && isFew(pages, loaded)) continue;
        await add(pages);
        pages = [];
      }
      if (!signal.aborted && loaded.trace.status === "running") timer = setTimeout(() => void poll(), pollMs);
    };
    const poll = async () => {
      if (document.hidden) {
        timer = setTimeout(() => void poll(), pollMs);
        return;
      }
      const page = await api.get<OutlinePage>(pathOf(deltaOf(loaded.spans)), signal).catch(() => undefined);
      if (page) await add([page]);
      await load(page?.next ?? null).catch(() => undefined);
    };
    const begin = async () => {
      await add([data]);
      await load(data.next);
    };
    void begin().catch(() => undefined);
    return () => {
      controller.abort();
      clearTimeout(timer);
      if (latest.current?.trace.status === "running") invalidate(path);
    };
  }, [path, data]);

  const { trace, tree, at, isPartial } = current ?? { ...nothing, trace: undefined, at: "", isPartial: false };
  return { trace, tree, at, isPartial, error: data ? undefined : error, refetch };
}

const nothing = { spans: new Map<string, Span>(), tree: buildTree([]), isPartial: true };

export const nextTask = () => new Promise((resolve) => setTimeout(resolve));

/** Each building of the tree at least doubles it: many pages cost no more than twice the last one. */
function isFew(pages: readonly OutlinePage[], { spans }: Loaded): boolean {
  return pages.reduce((sum, { id }) => sum + id.length, 0) < spans.size;
}

/** The map stays the same where the pages change nothing. */
function merge(loaded: Loaded, pages: readonly OutlinePage[]): Loaded {
  const spans = new Map(loaded.spans);
  let [{ trace, at, isPartial }, isChanged]: [Pick<Loaded, "trace" | "at" | "isPartial">, boolean] = [loaded, false];
  for (const page of pages) {
    if (addPage(spans, page)) isChanged = true;
    trace = { ...trace, ...page.trace };
    at = page.at;
    isPartial = page.next !== null;
  }
  return { ...loaded, trace, at, spans: isChanged ? spans : loaded.spans, isPartial };
}

interface Delta {
  after?: string | undefined;
  ids?: string;
}

function deltaOf(spans: ReadonlyMap<string, Span>): Delta {
  const all = [...spans.values()];
  const after = all.at(-1 - Math.min(overlap, all.length - 1));
  const unfinished = all.filter(({ end }) => end === undefined).slice(-maxIds);
  const ids = unfinished.map(({ id }) => id).join(",");
  return { after: after?.id, ids };
}

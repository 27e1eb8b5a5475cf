import { type ApiClient, type ListedTrace, type TraceQuery, WaymarkApiError, WaymarkError } from "@waymark/client";
import { createTailHistory, type TailHistory } from "./tail-history.js";

/** A trace that is new, or whose status changed. */
export interface TailEvent {
  event: "new" | "changed";
  trace: ListedTrace;
}

export interface TailOptions {
  api: Pick<ApiClient, "listTraces">;
  query: Omit<TraceQuery, "limit" | "cursor">;
  /** How many of those that are there already are told at first. */
  lines: number;
  signal: AbortSignal;
  onEvent(event: TailEvent): void;
  /** Told when asking fails, and when it works again. */
  onTrouble(error: unknown): void;
  onRecovery(): void;
  /** Waits; rejects when the signal aborts. */
  sleep(ms: number): Promise<unknown>;
}

/** Between two questions: at first and after something new, and at most, when nothing happens or nobody answers. */
const pollMs = { min: 500, max: 5_000 };

const pageSize = 200;
/** What is asked for at once reaches this many pages back. Traces that are older are followed no more. */
const maxPages = 5;

/**
 * Tells new traces and changes of status, oldest first, until the signal aborts. A service that cannot be reached is asked
 * again, except at the very first.
 * @throws WaymarkError when the first question fails, or the service refuses a later one for good
 */
export async function tailTraces(options: TailOptions): Promise<void> {
  const { signal, lines, onEvent } = options;
  const history = createTailHistory();
  let running = new Set<string>();
  let waitMs = pollMs.min;
  let isTroubled = false;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const { traces, isAll } = await readLatest(options, isFirst ? undefined : { history, running });
      const events = traces.toReversed().flatMap((trace) => {
        const event = isFirst ? "new" : history.changeOf(trace);
        return event ? [{ event, trace }] : [];
      });
      for (const event of isFirst ? events.slice(Math.max(0, events.length - lines)) : events) onEvent(event);
      running = new Set(traces.filter(({ status }) => status === "running").map(({ id }) => id));
      history.learn(traces, isAll);
      waitMs = events.length > 0 ? pollMs.min : Math.min(pollMs.max, waitMs * 1.5);
      if (isTroubled) options.onRecovery();
      isTroubled = false;
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !isPassing(error)) throw error;
      if (!isTroubled) options.onTrouble(error);
      isTroubled = true;
      waitMs = Math.min(pollMs.max, waitMs * 2);
    }
    await options.sleep(waitMs).catch(() => undefined);
  }
}

/** Whether asking again may help: no answer, too many questions, or a service that is not well. */
function isPassing(error: unknown): boolean {
  if (error instanceof WaymarkApiError) return error.status >= 500 || error.status === 429;
  return error instanceof WaymarkError;
}

/**
 * Reads the newest traces, newest first, back to where none is new and none that still ran is missing.
 * @param before what is known, and which of it ran when it was last read; undefined to read a single page
 */
async function readLatest(
  { api, query, signal }: TailOptions,
  before: { history: TailHistory; running: ReadonlySet<string> } | undefined,
): Promise<{ traces: ListedTrace[]; isAll: boolean }> {
  const missing = new Set(before?.running);
  const read = new Map<string, ListedTrace>();
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page++) {
    const position = cursor === null ? {} : { cursor };
    const answer = await api.listTraces({ ...query, limit: pageSize, ...position }, { signal });
    for (const trace of answer.traces) {
      read.set(trace.id, trace);
      missing.delete(trace.id);
    }
    cursor = answer.next_cursor;
    const hasNew = answer.traces.some((trace) => before?.history.changeOf(trace) === "new");
    if (cursor === null || !before || (!hasNew && missing.size === 0)) break;
  }
  return { traces: [...read.values()], isAll: cursor === null };
}

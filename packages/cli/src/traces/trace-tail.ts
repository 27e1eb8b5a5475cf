import { type ApiClient, type ListedTrace, type TraceQuery, WaymarkApiError, WaymarkError } from "@waymark/client";
import { createTailHistory, type TailHistory } from "./tail-history.js";

/** A new trace, or a changed status. */
export interface TailEvent {
  event: "new" | "changed";
  trace: ListedTrace;
}

export interface TailOptions {
  api: Pick<ApiClient, "listTraces">;
  query: Omit<TraceQuery, "limit" | "cursor">;
  /** Number of earlier traces to begin with. */
  lines: number;
  signal: AbortSignal;
  onEvent(event: TailEvent): void;
  /** Called for the first of several failing requests, and for the next answer. */
  onTrouble(error: unknown): void;
  onRecovery(): void;
  /** Waits; rejects when the signal aborts. */
  sleep(ms: number): Promise<unknown>;
}

/** The pause between requests: the least after something new, the most when nothing changes or nobody answers. */
const pollMs = { min: 500, max: 5_000 };

const pageSize = 200;
/** A read goes so many pages back; the tail no longer follows older traces. */
const maxPages = 5;

/**
 * Reports new traces and changes of status, oldest first, until the signal aborts. After the first answer it repeats failed
 * requests.
 * @throws WaymarkError when the first request fails, or the service refuses a later one for good
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

/** Whether a repetition may help: after no answer, too many requests, or a server error. */
function isPassing(error: unknown): boolean {
  if (error instanceof WaymarkApiError) return error.status >= 500 || error.status === 429;
  return error instanceof WaymarkError;
}

/**
 * Reads the newest traces, newest first, until a page has nothing new and all running traces were read.
 * @param before the known traces, and the running ones of the last read; undefined to read a single page
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

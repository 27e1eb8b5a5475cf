/** A trace that a client wrote, by its unique name. */
interface TraceEntry {
  /** Undefined while no answer acknowledged it. */
  isAcknowledged: boolean;
  /** Names of acknowledged spans. */
  spans: string[];
  /** The last acknowledged status; undefined while a change is not acknowledged. */
  status: string | undefined;
  /** Whether a change to `error` was sent. */
  hasFailed: boolean;
}

interface EventEntry {
  sent: number;
  acknowledged: number;
}

/** Every write of a tenant with its acknowledgement. */
export interface Ledger {
  readonly traces: Map<string, TraceEntry>;
  /** Events by their path. */
  readonly events: Map<string, EventEntry>;
  /** A new entry for a trace that is about to be sent. */
  openTrace(): { name: string; entry: TraceEntry };
  /** Counts an event that is about to be sent. */
  openEvent(): { path: string; entry: EventEntry };
}

/** @param pages paths that events take in turns; by default each event has a path of its own */
export function createLedger(pages = Number.POSITIVE_INFINITY): Ledger {
  const traces = new Map<string, TraceEntry>();
  const events = new Map<string, EventEntry>();
  let sent = 0;
  return {
    traces,
    events,
    openTrace: () => {
      const name = `trace ${traces.size + 1}`;
      const entry: TraceEntry = { isAcknowledged: false, spans: [], status: undefined, hasFailed: false };
      traces.set(name, entry);
      return { name, entry };
    },
    openEvent: () => {
      const path = `/page-${(sent++ % pages) + 1}`;
      const entry = events.get(path) ?? { sent: 0, acknowledged: 0 };
      entry.sent++;
      events.set(path, entry);
      return { path, entry };
    },
  };
}

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

/** Every write of a tenant with its acknowledgement. */
export interface Ledger {
  readonly traces: Map<string, TraceEntry>;
  /** Events by their unique path, and whether they were acknowledged. */
  readonly events: Map<string, boolean>;
  /** A new entry for a trace that is about to be sent. */
  openTrace(): { name: string; entry: TraceEntry };
  openEvent(): string;
}

export function createLedger(): Ledger {
  const traces = new Map<string, TraceEntry>();
  const events = new Map<string, boolean>();
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
      const path = `/page-${events.size + 1}`;
      events.set(path, false);
      return path;
    },
  };
}

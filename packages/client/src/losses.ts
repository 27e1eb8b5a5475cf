import { WaymarkLossError } from "./errors.js";
import { messageOf } from "./json-text.js";

/** How many traces and spans. */
export interface Counts {
  traces: number;
  spans: number;
}

/** Collects what could not be sent, and tells it by cause, so that a service that is down is one call and not thousands. */
export interface Losses {
  readonly total: Readonly<Counts>;
  /** Whether something was added since the last report. */
  readonly areUnreported: boolean;
  add(lost: Partial<Counts>, cause: unknown): void;
  /** Tells what was collected since. */
  report(): void;
}

/**
 * @param onError takes a report; it may throw, since it is the user's
 * @param onAdd called when there is something to report soon
 */
export function createLosses(onError: (error: WaymarkLossError) => void, onAdd: () => void): Losses {
  const total: Counts = { traces: 0, spans: 0 };
  let collected = new Map<unknown, Counts>();
  return {
    total,
    get areUnreported() {
      return collected.size > 0;
    },
    add({ traces = 0, spans = 0 }, cause) {
      const counts = collected.get(cause) ?? { traces: 0, spans: 0 };
      collected.set(cause, counts);
      for (const sum of [counts, total]) {
        sum.traces += traces;
        sum.spans += spans;
      }
      onAdd();
    },
    report() {
      const told = collected;
      collected = new Map();
      for (const [cause, counts] of told) {
        const what = `${counts.traces} traces and ${counts.spans} spans could not be recorded`;
        try {
          onError(new WaymarkLossError(`${what}: ${messageOf(cause)}`, counts, { cause }));
        } catch {
          // The program that is recorded must go on, whatever its own callback does.
        }
      }
    },
  };
}

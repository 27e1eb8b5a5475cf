import type { ListedTrace, TraceStatus } from "@waymark/client";
import { toMicros } from "./time-text.js";

/** More than one read can hold, so that deletions do not let older traces look new. */
const maxKnown = 5_000;

/** A place in the list of traces: newest first, by start and then by id. */
interface Place {
  micros: number;
  id: string;
}

/** What a tail has read so far. */
export interface TailHistory {
  /** Whether a trace that was just read is new or changed; undefined for neither. */
  changeOf(trace: ListedTrace): "new" | "changed" | undefined;
  /**
   * Takes the traces that were read from the list's beginning on, newest first.
   * @param isAll whether there is nothing older
   */
  learn(traces: readonly ListedTrace[], isAll: boolean): void;
}

/**
 * Remembers traces. An unknown trace is new only within the part of the list that was read before; older ones are history.
 */
export function createTailHistory(): TailHistory {
  const known = new Map<string, { status: TraceStatus; place: Place }>();
  /** The oldest place down to which all was read; undefined where the list was read to its end. */
  let horizon: Place | undefined;

  function keepWithinBound(): void {
    for (const [id, { place }] of known) {
      if (known.size <= maxKnown) break;
      known.delete(id);
      // It must not look new when it is read again.
      if (!horizon || isNewer(place, horizon)) horizon = place;
    }
  }
  return {
    changeOf(trace) {
      const before = known.get(trace.id);
      if (before) return before.status === trace.status ? undefined : "changed";
      return !horizon || isNewer(placeOf(trace), horizon) ? "new" : undefined;
    },
    learn(traces, isAll) {
      const oldest = traces.at(-1);
      const reached = oldest && placeOf(oldest);
      const isFirst = known.size === 0 && horizon === undefined;
      if (isAll) horizon = undefined;
      else if (reached && (isFirst || (horizon && isNewer(horizon, reached)))) horizon = reached;
      // Those that were not seen for the longest time are forgotten first.
      for (const trace of traces.toReversed()) {
        known.delete(trace.id);
        known.set(trace.id, { status: trace.status, place: placeOf(trace) });
      }
      keepWithinBound();
    },
  };
}

function placeOf({ started_at, id }: ListedTrace): Place {
  return { micros: toMicros(started_at), id };
}

function isNewer(one: Place, other: Place): boolean {
  return one.micros === other.micros ? one.id > other.id : one.micros > other.micros;
}

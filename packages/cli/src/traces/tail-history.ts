import type { ListedTrace, TraceStatus } from "@waymark/client";
import { toMicros } from "../output/time-text.js";

/** More than one read holds. Otherwise a deletion would make older traces look new. */
const maxKnown = 5_000;

/** A position in the list of traces: newest first, by start and then by id. */
interface Position {
  micros: number;
  id: string;
}

/** The traces that a tail has read. */
export interface TailHistory {
  /** Whether a trace from the latest read is new or changed; undefined for neither. */
  changeOf(trace: ListedTrace): "new" | "changed" | undefined;
  /**
   * Adds the latest read, from the beginning of the list, newest first.
   * @param isAll whether there is nothing older
   */
  learn(traces: readonly ListedTrace[], isAll: boolean): void;
}

/**
 * Keeps known traces. An unknown trace is new only within the part of the list that earlier reads covered; older ones are history.
 */
export function createTailHistory(): TailHistory {
  const known = new Map<string, { status: TraceStatus; position: Position }>();
  /** The oldest position of earlier reads; undefined after a read to the end of the list. */
  let horizon: Position | undefined;

  function keepWithinBound(): void {
    for (const [id, { position }] of known) {
      if (known.size <= maxKnown) break;
      known.delete(id);
      // It must not look new when it is read again.
      if (!horizon || isNewer(position, horizon)) horizon = position;
    }
  }
  return {
    changeOf(trace) {
      const before = known.get(trace.id);
      if (before) return before.status === trace.status ? undefined : "changed";
      return !horizon || isNewer(positionOf(trace), horizon) ? "new" : undefined;
    },
    learn(traces, isAll) {
      const oldest = traces.at(-1);
      const reached = oldest && positionOf(oldest);
      const isFirst = known.size === 0 && horizon === undefined;
      if (isAll) horizon = undefined;
      else if (reached && (isFirst || (horizon && isNewer(horizon, reached)))) horizon = reached;
      // The least recently seen come first, and are forgotten first.
      for (const trace of traces.toReversed()) {
        known.delete(trace.id);
        known.set(trace.id, { status: trace.status, position: positionOf(trace) });
      }
      keepWithinBound();
    },
  };
}

function positionOf({ started_at, id }: ListedTrace): Position {
  return { micros: toMicros(started_at), id };
}

function isNewer(one: Position, other: Position): boolean {
  return one.micros === other.micros ? one.id > other.id : one.micros > other.micros;
}

import type { CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";

/** Spans of one trace at most: what a run of an agent has a hundred times over, and what one read can still give back. */
export const maxSpansPerTrace = 100_000;
/**
 * Spans that this process adds to a trace before it counts again what the database has: a tenth of the room that is left,
 * since a count reads an entry for each span, but never fewer than 1,000. Ten instances together stay below the limit so.
 */
const minUncounted = 1_000;
const uncountedShare = 0.1;
/** Traces remembered at most. A trace that was forgotten is counted again. */
const maxTraces = 20_000;
/** Milliseconds for which a count that refused spans is believed. */
const recountAfterMs = 10_000;
/** Traces of one counting statement at most: a full one takes some ten milliseconds. */
const maxTracesPerStatement = 4;

interface Room {
  /** What the database had, and what this process has let in since. */
  spans: number;
  /** Let in without a count from now on, at most. */
  uncountedLeft: number;
  /** When it was asked, by `performance.now()`. */
  countedAt: number;
  /** The count that is under way. */
  counting: Promise<void> | undefined;
}

/** Keeps traces from growing without end. */
export interface TraceRoom {
  /**
   * Lets spans into a trace unless they would take it above {@link maxSpansPerTrace}; spans that are refused take nothing.
   * To be called before spans are stored. The JSON routes throw {@link traceFull} on `false`. OTLP calls it for the new
   * spans of each trace of a request, part by part, and on `false` refuses the part by `partial_success`; an unknown trace
   * has room, so it may be called before the trace is looked for.
   * @param traceId our id of the trace
   * @returns a promise only where the database has to be asked, which it is once for a trace and now and then again
   */
  take(accountId: string, traceId: string, spans: number): boolean | Promise<boolean>;
  /** Notes a trace that this process has just created: it has no spans, and need not be counted. */
  created(accountId: string, traceId: string): void;
}

/**
 * How many spans each trace has, $3 at most. For each trace one range of `span_pkey`, read from the index alone where
 * vacuum has been there.
 */
const countSpansSql = `
  SELECT (SELECT count(*)::int FROM (
    SELECT FROM span s WHERE s.account_id = q.account_id AND s.trace_id = q.trace_id LIMIT $3
  ) counted)
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS q (account_id, trace_id, place) ORDER BY place`;

/** The 413 for spans that a trace has no room for. */
export function traceFull(): AppError {
  return new AppError("trace_full", { details: { limit: maxSpansPerTrace } });
}

/**
 * Counts spans in memory, and in the database when a trace is first seen and again after {@link minUncounted}. Instances do
 * not know of each other's spans in between, so that a trace may end up with 1,000 spans for each instance above the limit,
 * and with those that were on their way to the database during a count.
 */
export function createTraceRoom(
  deps: { pool: pg.Pool; createGroupCommit: CreateGroupCommit },
  max = maxSpansPerTrace,
): TraceRoom {
  const rooms = new Map<string, Room>();
  const countSpans = batchCounts(deps, max);

  function remember(name: string, room: Room): Room {
    if (rooms.size >= maxTraces) rooms.delete(rooms.keys().next().value ?? "");
    rooms.set(name, room);
    return room;
  }
  async function count(room: Room, accountId: string, traceId: string): Promise<void> {
    room.spans = await countSpans({ accountId, traceId });
    room.uncountedLeft = Math.max(minUncounted, (max - room.spans) * uncountedShare);
    room.countedAt = performance.now();
  }
  function takeKnown(room: Room, spans: number): boolean {
    if (room.spans + spans > max) return false;
    room.spans += spans;
    room.uncountedLeft -= spans;
    return true;
  }
  async function takeCounted(room: Room, accountId: string, traceId: string, spans: number): Promise<boolean> {
    room.counting ??= count(room, accountId, traceId).finally(() => {
      room.counting = undefined;
    });
    await room.counting;
    return takeKnown(room, spans);
  }

  return {
    take(accountId, givenId, spans) {
      const traceId = givenId.toLowerCase();
      const name = accountId + traceId;
      const room = rooms.get(name) ?? remember(name, unseenRoom());
      if (room.counting === undefined) {
        if (spans <= room.uncountedLeft && takeKnown(room, spans)) return true;
        // Who goes on sending to a full trace is not worth a count for each request.
        if (room.spans + spans > max && performance.now() - room.countedAt < recountAfterMs) return false;
      }
      return takeCounted(room, accountId, traceId, spans);
    },
    created(accountId, traceId) {
      remember(accountId + traceId, { ...unseenRoom(), uncountedLeft: minUncounted, countedAt: performance.now() });
    },
  };
}

function unseenRoom(): Room {
  return { spans: 0, uncountedLeft: 0, countedAt: Number.NEGATIVE_INFINITY, counting: undefined };
}

function batchCounts(
  { pool, createGroupCommit }: { pool: pg.Pool; createGroupCommit: CreateGroupCommit },
  max: number,
) {
  return createGroupCommit<{ accountId: string; traceId: string }, number>({
    name: "count-spans",
    maxInFlight: 2,
    maxRows: maxTracesPerStatement,
    run: async (traces) => {
      const { rows } = await pool.query<[number]>({
        name: "count-spans",
        text: countSpansSql,
        rowMode: "array",
        values: [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId), max + 1],
      });
      return traces.map((_, index) => rows[index]?.[0] ?? 0);
    },
  });
}

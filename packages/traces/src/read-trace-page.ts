import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";
import { listTraces, type TracePage, type TracesToFind } from "./list-traces.query.js";

/** A search may take half a second: these leave connections to everybody else. More would wait longer than a client does. */
const limits = { maxInFlight: 3, maxInFlightPerOwner: 2, maxWaitingRows: 200, maxRows: 1 } as const;

/** Reads pages of traces, accounts in turns. */
export function createTracePageReader({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}): (query: TracesToFind) => Promise<TracePage> {
  const run = (queries: readonly TracesToFind[]) => Promise.all(queries.map((query) => listTraces(pool, query)));
  return createGroupCommit({ name: "list-traces", run, ...limits });
}

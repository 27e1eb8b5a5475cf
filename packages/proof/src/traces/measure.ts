import { cpuMicrosOf, cpuMicrosOfTree, memoryOf } from "@waymark/local/process-usage";
import type pg from "pg";
import { generate, type Seen } from "../load/generate.js";
import { spansPerRequest } from "./bulk-bodies.js";
import { type BenchAccount, isBulk, type Operation, requestsOf } from "./scenario.js";

export interface Subject {
  name: string;
  port: number;
  pid: number;
}

export interface Measurement extends Seen {
  operation: Operation;
  server: string;
  connections: number;
  accounts: number;
  /** Requests, or spans of a bulk operation. */
  perSecond: number;
  /** CPU of each of them. */
  nodeMicros: number;
  postgresMicros: number;
  memoryBytes: number;
  /** New rows in the database; null if the operation makes none. */
  rows: number | null;
  /** The increase of the monthly counters; null if the operation counts nothing. */
  counted: number | null;
}

export interface Target {
  pool: pg.Pool;
  postmasterPid: number;
  accounts: readonly BenchAccount[];
  seconds: number;
}

const warmUpSeconds = 1;
/** Far below any limit, since refusals are not the subject. */
const emptyMonth = -1_000_000_000;

/**
 * Measures one operation on one server. The warm-up gives the rate, then a fixed number of requests follows, so every
 * request has its answer and rows can be compared with 201s exactly.
 */
export async function measure(
  target: Target,
  subject: Subject,
  load: { operation: Operation; connections: number; accounts: number },
): Promise<Measurement> {
  const { operation, connections } = load;
  const accounts = target.accounts.slice(0, load.accounts);
  const { port, pid } = subject;
  const drive = (until: { seconds: number } | { requests: number }) =>
    generate({ port, connections, until, requestsOf: (n) => requestsOf(operation, accounts, n, connections) });

  await target.pool.query("UPDATE trace_usage SET traces = $1", [emptyMonth]);
  const first = await drive({ requests: connections * 4 });
  const warmUp = await drive({ requests: Math.ceil(first.requestsPerSecond * warmUpSeconds) + connections });
  const before = await countRows(target.pool, operation);
  const nodeBefore = cpuMicrosOf(pid);
  const postgresBefore = cpuMicrosOfTree(target.postmasterPid);
  const requests = Math.max(connections, Math.round(warmUp.requestsPerSecond * target.seconds));
  const seen = await drive({ requests });
  const each = isBulk(operation) ? spansPerRequest : 1;
  const nodeMicros = (cpuMicrosOf(pid) - nodeBefore) / requests / each;
  const postgresMicros = (cpuMicrosOfTree(target.postmasterPid) - postgresBefore) / requests / each;
  const after = await countRows(target.pool, operation);
  return {
    ...seen,
    ...load,
    server: subject.name,
    perSecond: seen.requestsPerSecond * each,
    nodeMicros,
    postgresMicros,
    memoryBytes: memoryOf(pid).now,
    rows: before.rows === null || after.rows === null ? null : after.rows - before.rows,
    counted: before.counted === null || after.counted === null ? null : after.counted - before.counted,
  };
}

/** The run with the median rate, so a disturbed one does not count. */
export function median(runs: readonly Measurement[]): Measurement {
  const sorted = runs.toSorted((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (!middle) throw new Error("Nothing was measured");
  return middle;
}

async function countRows(pool: pg.Pool, operation: Operation) {
  if (operation === "finalize" || operation === "read") return { rows: null, counted: null };
  const table = operation === "create" ? "trace" : "span";
  const counts = operation !== "span" && operation !== "batch";
  const { rows } = await pool.query(
    `SELECT (SELECT count(*) FROM ${table}) AS rows, (SELECT sum(traces) FROM trace_usage) AS counted`,
  );
  return { rows: Number(rows[0].rows), counted: counts ? Number(rows[0].counted) : null };
}

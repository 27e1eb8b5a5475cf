import type pg from "pg";
import type { ServiceProcess } from "../src/service.fixture.js";
import { cpuMicrosOf, cpuMicrosOfTree, memoryOf } from "./cpu.js";
import { generate, type Seen } from "./load.js";
import { type BenchAccount, type Operation, requestsOf } from "./scenario.js";

/** A server that takes the load. */
export interface Subject {
  name: string;
  process: ServiceProcess;
}

/** What one run of one operation on one server showed. */
export interface Measurement extends Seen {
  operation: Operation;
  server: string;
  connections: number;
  accounts: number;
  nodeMicrosPerRequest: number;
  postgresMicrosPerRequest: number;
  memoryBytes: number;
  /** Rows that the database has more than before; null where the operation makes none. */
  rows: number | null;
  /** What the monthly counters went up by; null where the operation counts nothing. */
  counted: number | null;
}

export interface Stage {
  pool: pg.Pool;
  postmasterPid: number;
  accounts: readonly BenchAccount[];
  seconds: number;
}

/** How long a server is driven before it is measured, so that its code is compiled and its connections are open. */
const warmUpSeconds = 1;
/** Far below any limit: what is measured is how fast traces are taken, not how fast they are refused. */
const emptyMonth = -1_000_000_000;

/**
 * Measures one operation on one server. After a warm-up that gives the rate, a fixed number of requests is sent, so that
 * every request has its answer and rows can be compared with 201s exactly.
 */
export async function measure(
  stage: Stage,
  subject: Subject,
  load: { operation: Operation; connections: number; accounts: number },
): Promise<Measurement> {
  const { operation, connections } = load;
  const accounts = stage.accounts.slice(0, load.accounts);
  const { port, pid } = subject.process;
  const drive = (until: { seconds: number } | { requests: number }) =>
    generate({ port, connections, until, requestsOf: (n) => requestsOf(operation, accounts, n, connections) });

  await stage.pool.query("UPDATE trace_usage SET traces = $1", [emptyMonth]);
  const first = await drive({ requests: connections * 4 });
  const warmUp = await drive({ requests: Math.ceil(first.requestsPerSecond * warmUpSeconds) + connections });
  const before = await countRows(stage.pool, operation);
  const nodeBefore = cpuMicrosOf(pid);
  const postgresBefore = cpuMicrosOfTree(stage.postmasterPid);
  const requests = Math.max(connections, Math.round(warmUp.requestsPerSecond * stage.seconds));
  const seen = await drive({ requests });
  const nodeMicros = cpuMicrosOf(pid) - nodeBefore;
  const postgresMicros = cpuMicrosOfTree(stage.postmasterPid) - postgresBefore;
  const after = await countRows(stage.pool, operation);
  return {
    ...seen,
    ...load,
    server: subject.name,
    nodeMicrosPerRequest: nodeMicros / requests,
    postgresMicrosPerRequest: postgresMicros / requests,
    memoryBytes: memoryOf(pid).now,
    rows: before.rows === null || after.rows === null ? null : after.rows - before.rows,
    counted: before.counted === null || after.counted === null ? null : after.counted - before.counted,
  };
}

/** Of several runs the one in the middle by rate, so that a disturbed one does not count. */
export function median(runs: readonly Measurement[]): Measurement {
  const sorted = runs.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond);
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

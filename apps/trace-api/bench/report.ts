import { spansPerRequest } from "./bulk-bodies.js";
import { type Measurement, median } from "./measure.js";
import { bulkOperations, operations } from "./scenario.js";

export interface Results {
  at: string;
  machine: string;
  seconds: number;
  rounds: number;
  /** Every operation on every server, each with its runs in the order of rounds. */
  servers: Measurement[][];
  /** Bulk operations, on ours and on the empty app. */
  bulk: Measurement[][];
  /** Creates over several numbers of connections. */
  connections: Measurement[][];
  /** Creates for several numbers of accounts. */
  accounts: Measurement[][];
}

type Column = readonly [title: string, show: (m: Measurement) => string];

const requestColumns: readonly Column[] = [
  ["operation", (m: Measurement) => m.operation],
  ["server", (m: Measurement) => m.server],
  ["conns", (m: Measurement) => String(m.connections)],
  ["accounts", (m: Measurement) => String(m.accounts)],
  ["req/s", (m: Measurement) => m.requestsPerSecond.toFixed(0)],
  ["p50 ms", (m: Measurement) => m.p50Ms.toFixed(1)],
  ["p99 ms", (m: Measurement) => m.p99Ms.toFixed(1)],
  ["node us", (m: Measurement) => m.nodeMicrosPerRequest.toFixed(0)],
  ["pg us", (m: Measurement) => m.postgresMicrosPerRequest.toFixed(0)],
  ["RSS MB", (m: Measurement) => (m.memoryBytes / 1e6).toFixed(0)],
  ["errors", (m: Measurement) => String(m.errors)],
  ["2xx", (m: Measurement) => String(m.acknowledged)],
  ["rows", (m: Measurement) => (m.rows === null ? "-" : String(m.rows))],
  ["counted", (m: Measurement) => (m.counted === null ? "-" : String(m.counted))],
];

const perSpan = (value: number) => (value / spansPerRequest).toFixed(1);
const bulkColumns = requestColumns.map(([title, show]): Column => {
  if (title === "req/s") return ["spans/s", (m) => (m.requestsPerSecond * spansPerRequest).toFixed(0)];
  if (title === "node us") return ["node us/span", (m) => perSpan(m.nodeMicrosPerRequest)];
  if (title === "pg us") return ["pg us/span", (m) => perSpan(m.postgresMicrosPerRequest)];
  return [title, show];
});

/** A table of bulk operations; CPU is in microseconds per span, rows are spans. */
export function formatBulkTable(measurements: readonly Measurement[]): string {
  return formatTable(measurements, bulkColumns);
}

/** A table of measurements; CPU is in microseconds per request. */
export function formatTable(measurements: readonly Measurement[], columns: readonly Column[] = requestColumns): string {
  const cells = [columns.map(([title]) => title), ...measurements.map((each) => columns.map(([, show]) => show(each)))];
  const widths = columns.map((_, n) => Math.max(...cells.map((row) => row[n]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, n) => (n < 2 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join("  ");
  return cells.map((row) => line(row).trimEnd()).join("\n");
}

/** The whole report as text. */
export function formatReport(results: Results): string {
  return [
    `${results.machine}, ${results.at.slice(0, 10)}; runs of ${results.seconds} s, the median of ${results.rounds}`,
    formatTable(results.servers.map(median)),
    formatRatios(results.servers),
    `Requests of ${spansPerRequest} spans; rows are spans, counted are traces`,
    formatBulkTable(results.bulk.map(median)),
    formatBulkRatios(results.bulk),
    "Creates, by connections",
    formatTable(results.connections.map(median)),
    "Creates, by accounts",
    formatTable(results.accounts.map(median)),
    "",
  ].join("\n\n");
}

/**
 * Ours against the others, for each operation: the median of the ratios within a round, since both run in the same state of
 * the machine there.
 */
function formatRatios(measured: readonly (readonly Measurement[])[]): string {
  const of = (operation: string, server: string) =>
    measured.find(([each]) => each?.operation === operation && each.server === server);
  const lines = operations.flatMap((operation) => {
    const [ours, nothing, best] = ["ours", "express-null", "express-best"].map((server) => of(operation, server));
    if (!ours || !nothing || !best) return [];
    const ratio = (other: readonly Measurement[], of: (each: Measurement) => number, digits: number) =>
      middle(ours.map((each, round) => of(each) / of(other[round] ?? each))).toFixed(digits);
    const rate = (each: Measurement) => each.requestsPerSecond;
    const parts = [
      operation.padEnd(8),
      `ours/null ${ratio(nothing, rate, 2)}`,
      `ours/best ${ratio(best, rate, 2)}`,
      `p99 ours/null ${ratio(nothing, (each) => each.p99Ms, 1)}`,
      `Node CPU ours/null ${ratio(nothing, (each) => each.nodeMicrosPerRequest, 2)}`,
    ];
    return [parts.join("   ")];
  });
  return lines.join("\n");
}

function formatBulkRatios(measured: readonly (readonly Measurement[])[]): string {
  const of = (operation: string, server: string) =>
    measured.find(([each]) => each?.operation === operation && each.server === server) ?? [];
  const lines = bulkOperations.map((operation) => {
    const nothing = of(operation, "express-null");
    const ratios = of(operation, "ours").map(
      (each, round) => each.requestsPerSecond / (nothing[round]?.requestsPerSecond ?? 0),
    );
    return `${operation.padEnd(13)}   ours/null ${middle(ratios).toFixed(2)}`;
  });
  return lines.join("\n");
}

/** Our rate by the other build's within a round, with the lowest and the highest: runs come in pairs, the other's first. */
export function formatBuildRatios(runs: readonly (readonly Measurement[])[]): string {
  const lines: string[] = [];
  for (let n = 0; n + 1 < runs.length; n += 2) {
    const [other = [], ours = []] = runs.slice(n, n + 2);
    const ratiosOf = (of: (each: Measurement) => number) =>
      ours.map((each, round) => of(each) / of(other[round] ?? each)).toSorted((a, b) => a - b);
    const rates = ratiosOf((each) => each.requestsPerSecond);
    const [first] = ours;
    lines.push(
      [
        `${first?.operation.padEnd(8)} ${String(first?.connections).padStart(3)} conns`,
        `ours/other ${middle(rates).toFixed(2)} (${rates.at(0)?.toFixed(2)} to ${rates.at(-1)?.toFixed(2)})`,
        `Node CPU ${middle(ratiosOf((each) => each.nodeMicrosPerRequest)).toFixed(2)}`,
        `Postgres CPU ${middle(ratiosOf((each) => each.postgresMicrosPerRequest)).toFixed(2)}`,
      ].join("   "),
    );
  }
  return lines.join("\n");
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

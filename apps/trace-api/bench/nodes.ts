import { type Measurement, median } from "./measure.js";
import { middle } from "./report.js";

const widths = [10, 10, 8, 8, 8, 10, 10, 8, 8, 8, 7];
const titles = [
  "operation",
  "node",
  "null/s",
  "best/s",
  "ours/s",
  "ours/null",
  "ours/best",
  "null us",
  "best us",
  "ours us",
  "p99 ms",
];

/** A line per operation and Node; ratios are the middle of those within a round. Servers are named `ours v20.1.0`. */
export function formatNodes(measured: readonly (readonly Measurement[])[]): string {
  const rows: string[][] = [];
  for (const runs of measured) {
    const [first] = runs;
    const [server, version = ""] = first?.server.split(" ") ?? [];
    if (!first || server !== "ours") continue;
    const of = (name: string) =>
      measured.find(([each]) => each?.operation === first.operation && each.server === `${name} ${version}`) ?? runs;
    const rate = (name: string) => median(of(name)).requestsPerSecond.toFixed(0);
    const ratio = (name: string) =>
      middle(runs.map((run, round) => run.requestsPerSecond / (of(name)[round] ?? run).requestsPerSecond)).toFixed(2);
    const micros = (name: string) => median(of(name)).nodeMicrosPerRequest.toFixed(0);
    rows.push([
      ...[first.operation, version, rate("express-null"), rate("express-best"), rate("ours")],
      ...[ratio("express-null"), ratio("express-best"), micros("express-null"), micros("express-best")],
      ...[micros("ours"), median(runs).p99Ms.toFixed(1)],
    ]);
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join("  ")
      .trimEnd();
  return `${[titles, ...rows].map(line).join("\n")}\n`;
}

import { formatTable } from "@waymark/local/figures";
import type { Findings } from "../load/audit.js";
import type { tryFault } from "./try-fault.js";

/** As `APP_MEMORY` of the containers. */
const memoryLimitMb = 537;
const shownFindings = 5;

/** A fault and what came of it. */
export type Row = Omit<Awaited<ReturnType<typeof tryFault>>, "tenants"> & Findings;

/** What speaks against a row, as sentences; none if it passes. */
export function problemsOf(row: Row): string[] {
  const problems = [
    ...row.lost.slice(0, shownFindings),
    ...row.doubled.slice(0, shownFindings),
    ...Object.entries(row.wrong).map(([what, times]) => `${times} answers ${what}`),
  ];
  if (row.hung > 0) problems.push(`${row.hung} requests had no answer within 30 s`);
  if (row.recoveryMs === undefined) problems.push("a service did not recover within a minute");
  if (row.memoryMb > memoryLimitMb) problems.push(`a process took ${row.memoryMb.toFixed(0)} MB`);
  return problems;
}

const columns = [
  "fault",
  "requests",
  "acknowledged",
  "refused",
  "broken",
  "lost",
  "doubled",
  "recovery s",
  "p99 ms",
  "MB",
];

function cellsOf(row: Row): string[] {
  const counts = [row.requests, row.acknowledged, row.refused, row.broken, row.lost.length, row.doubled.length];
  const recovery = row.recoveryMs === undefined ? "none" : (row.recoveryMs / 1_000).toFixed(1);
  return [row.fault, ...counts.map(String), recovery, row.quietP99Ms.toFixed(0), row.memoryMb.toFixed(0)];
}

/** The table, then what speaks against rows and the faults that were not tried. */
export function formatReport({
  rows,
  skipped,
  messages,
}: Readonly<Record<"skipped" | "messages", string[]>> & { rows: Row[] }) {
  const problems = rows.flatMap((row) => problemsOf(row).map((problem) => `${row.fault}: ${problem}`));
  const lines = [...problems, ...messages.slice(0, shownFindings), ...skipped.map((line) => `Not tried: ${line}`)];
  return `${formatTable([columns, ...rows.map(cellsOf)])}${lines.map((line) => `\n${line}`).join("")}\n`;
}

import type { TraceRow } from "../../src/traces/traces.route.js";
import { dayOf } from "../ui/format.js";

/** Newest start first, then the greater id: the API's order. Texts without `Z` sort with and without microseconds. */
function compareRows(a: TraceRow, b: TraceRow): number {
  const [first, second] = [a.started_at.replace("Z", ""), b.started_at.replace("Z", "")];
  if (first !== second) return first < second ? 1 : -1;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

export function appendRows(rows: readonly TraceRow[], page: readonly TraceRow[]): TraceRow[] {
  const known = new Set(rows.map(({ id }) => id));
  return [...rows, ...page.filter(({ id }) => !known.has(id))];
}

/** Puts new rows in their places. While the list goes on, rows below its last one wait for their page. */
export function insertRows(rows: readonly TraceRow[], added: readonly TraceRow[], goesOn: boolean): TraceRow[] {
  const known = new Set(rows.map(({ id }) => id));
  const last = rows.at(-1);
  const fitting = added.filter((row) => !known.has(row.id) && !(goesOn && last && compareRows(row, last) > 0));
  return [...rows, ...fitting].sort(compareRows);
}

/** Changes rows in place, and drops those that are gone. Returns the same array when nothing changed. */
export function changeRows(
  rows: readonly TraceRow[],
  changed: readonly TraceRow[],
  gone: readonly string[],
): readonly TraceRow[] {
  const byId = new Map(changed.map((row) => [row.id, row]));
  const missing = new Set(gone);
  let isChanged = false;
  const next = rows.flatMap((row) => {
    const newer = byId.get(row.id);
    const isSame = newer === undefined || isSameRow(row, newer);
    if (missing.has(row.id) || !isSame) isChanged = true;
    if (missing.has(row.id)) return [];
    // An error that was not read in time must not hide a known one.
    return isSame ? [row] : [{ ...newer, error: newer.error ?? (isFailed(newer) ? row.error : null) }];
  });
  return isChanged ? next : rows;
}

function isSameRow(a: TraceRow, b: TraceRow): boolean {
  const text = (row: TraceRow) => JSON.stringify({ ...row, error: b.error === null ? null : row.error });
  return text(a) === text(b);
}

export function isFailed({ status }: Pick<TraceRow, "status">): boolean {
  return status === "error" || status === "timeout";
}

/** The greatest id: traces are made in the order of ids, while their starts are the sender's. */
export function newestId(rows: readonly TraceRow[]): string | undefined {
  return rows.reduce<string | undefined>((most, { id }) => (most === undefined || id > most ? id : most), undefined);
}

export function groupByDay(rows: readonly TraceRow[]) {
  const days: { day: string; rows: TraceRow[] }[] = [];
  for (const row of rows) {
    const day = dayOf(row.started_at);
    const last = days.at(-1);
    if (last?.day === day) last.rows.push(row);
    else days.push({ day, rows: [row] });
  }
  return days;
}

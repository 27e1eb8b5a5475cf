/** A UTC month: monthly limits start anew with each. */
export interface UtcMonth {
  /** `YYYY-MM`. */
  readonly label: string;
  /** The first day, `YYYY-MM-DD`, the key of the month's counter. */
  readonly firstDay: string;
  /** Whole seconds from the moment to the start of the next month, rounded up, at least 1. */
  readonly secondsLeft: number;
  /** The start of the next month, ISO 8601. */
  readonly endsAt: string;
}

let last = { start: 0, end: 0, label: "", firstDay: "", endsAt: "" };

/** The UTC month of a moment (trace contract, "Limits": reset on the 1st of each calendar month, UTC). */
export function utcMonth(moment: Date): UtcMonth {
  const time = moment.getTime();
  // Each request that counts asks for its month.
  if (time < last.start || time >= last.end) last = readMonth(moment);
  const { label, firstDay, endsAt, end } = last;
  return { label, firstDay, secondsLeft: Math.ceil((end - time) / 1_000), endsAt };
}

function readMonth(moment: Date): typeof last {
  const label = moment.toISOString().slice(0, 7);
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()];
  const [start, end] = [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)];
  return { start, end, label, firstDay: `${label}-01`, endsAt: new Date(end).toISOString() };
}

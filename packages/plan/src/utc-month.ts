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

/** The month last asked for: most requests of a process have one. */
let last = monthAt(0);

/** The UTC month of a moment (trace contract, "Limits": reset on the 1st of each calendar month, UTC). */
export function utcMonth(moment: Date): UtcMonth {
  const at = moment.getTime();
  if (at < last.startsAtMs || at >= last.endsAtMs) last = monthAt(at);
  const { label, firstDay, endsAt, endsAtMs } = last;
  return { label, firstDay, secondsLeft: Math.ceil((endsAtMs - at) / 1000), endsAt };
}

function monthAt(at: number) {
  const moment = new Date(at);
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()];
  const label = moment.toISOString().slice(0, 7);
  const endsAtMs = Date.UTC(year, month + 1, 1);
  const endsAt = new Date(endsAtMs).toISOString();
  return { label, firstDay: `${label}-01`, endsAt, startsAtMs: Date.UTC(year, month, 1), endsAtMs };
}

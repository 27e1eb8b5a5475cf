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

/** The UTC month of a moment (trace contract, "Limits": reset on the 1st of each calendar month, UTC). */
export function utcMonth(moment: Date): UtcMonth {
  const label = moment.toISOString().slice(0, 7);
  const nextMonth = Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 1);
  return {
    label,
    firstDay: `${label}-01`,
    secondsLeft: Math.ceil((nextMonth - moment.getTime()) / 1000),
    endsAt: new Date(nextMonth).toISOString(),
  };
}

/** The ranges that statistics can be read for (statistics contract, "GET /api/v1/sites/:id/stats"). */
export const ranges = { today: 1, "7d": 7, "30d": 30 } as const satisfies Record<string, number>;

/** A key of {@link ranges}. */
export type Range = keyof typeof ranges;

/** The range ids, for choices in a schema. */
export const rangeIds = Object.keys(ranges) as [Range, ...Range[]];

/** First and last day of a range, both in it, as `YYYY-MM-DD` in UTC. */
export interface UtcDays {
  readonly from: string;
  readonly to: string;
}

/** The days of a range: today, and for longer ones the days before it (design, "Statistics"). */
export function utcDaysOf(range: Range, now: Date): UtcDays {
  const dayMs = 86_400_000;
  const day = (daysAgo: number) => new Date(now.getTime() - daysAgo * dayMs).toISOString().slice(0, 10);
  return { from: day(ranges[range] - 1), to: day(0) };
}

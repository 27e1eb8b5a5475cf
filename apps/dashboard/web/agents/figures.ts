export interface Day {
  day: string;
  traces: number;
  failures: number;
}

const dayMs = 86_400_000;
const shownDays = 30;

/** Every one of the 30 days from the first, those without traces too. */
export function fillDays(from: string, days: readonly Day[]): Day[] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: shownDays }, (_, at) => {
    const day = new Date(Date.parse(from) + at * dayMs).toISOString().slice(0, 10);
    return known.get(day) ?? { day, traces: 0, failures: 0 };
  });
}

interface Counts {
  traces: number;
  failures: number;
}

/** The share of failures; 0 without traces. */
export function failureRate({ traces, failures }: Counts): number {
  return traces === 0 ? 0 : failures / traces;
}

/** The change of the rate in points of a percent; undefined where one of the ranges has no traces, or nothing changed. */
export function rateChange(now: Counts, before: Counts): number | undefined {
  if (now.traces === 0 || before.traces === 0) return undefined;
  const points = Math.round((failureRate(now) - failureRate(before)) * 100);
  return points === 0 ? undefined : points;
}

const dayMs = 86_400_000;

/** Whether a text is a UTC day as the APIs take it, `2026-02-28`: from 1970, with a day after it. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < "1970" || text > "9999") return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** Why two days, both included, are no range; undefined when they are. */
export function rangeProblem(from: string, to: string, maxDays = Number.POSITIVE_INFINITY): string | undefined {
  if (!isDay(from) || !isDay(to)) return "Give both days";
  if (to < from) return "The last day is before the first";
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  return days > maxDays ? `At most ${maxDays} days` : undefined;
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

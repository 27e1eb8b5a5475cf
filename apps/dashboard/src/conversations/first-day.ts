const dayMs = 86_400_000;
const listedDays = 30;

/** The first of the 30 UTC days that a list is of unless it has another start. */
export function firstDay(now: Date): string {
  return new Date((Math.floor(now.getTime() / dayMs) - listedDays + 1) * dayMs).toISOString();
}

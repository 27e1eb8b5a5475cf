const dayMs = 86_400_000;
const shownDays = 30;

/** The last 30 UTC days with today, and the 30 before. */
export function agentDays(now: Date): { before: string; from: string; to: string } {
  const dayAt = (offset: number) => new Date(now.getTime() + offset * dayMs).toISOString().slice(0, 10);
  return { before: dayAt(1 - 2 * shownDays), from: dayAt(1 - shownDays), to: dayAt(1) };
}

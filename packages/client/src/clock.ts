/** Tells the time as ISO 8601 in UTC with microseconds. */
export type Clock = () => string;

/**
 * A clock for one trace: it starts at the system's time and then only moves forward, so that durations are right also
 * when the system's clock is set meanwhile.
 */
export function createClock(): Clock {
  const startMs = Date.now();
  const origin = performance.now();
  return () => {
    const micros = Math.round((startMs + (performance.now() - origin)) * 1_000);
    const seconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, -1);
    return `${seconds}${String(micros % 1_000).padStart(3, "0")}Z`;
  };
}

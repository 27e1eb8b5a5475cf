/** Returns ISO 8601 in UTC with microseconds. */
export type Clock = () => string;

/** A trace's clock starts at the system's time and only moves forward, so durations survive changes of the system's clock. */
export function createClock(): Clock {
  const startMs = Date.now();
  const origin = performance.now();
  return () => {
    const micros = Math.round((startMs + (performance.now() - origin)) * 1_000);
    const seconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, -1);
    return `${seconds}${String(micros % 1_000).padStart(3, "0")}Z`;
  };
}

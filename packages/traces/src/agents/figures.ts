/** Figures of some traces. Null where no trace has ended, or none with a duration. */
export interface Figures {
  /** Traces with `error` or `timeout` by ended traces. */
  failure_rate: number | null;
  /** Percentiles of the ended traces' durations by nearest rank. */
  p50_ms: number | null;
  p90_ms: number | null;
  p99_ms: number | null;
}

export const noFigures: Figures = { failure_rate: null, p50_ms: null, p90_ms: null, p99_ms: null };

/** An aggregate of rows of `trace`: the three percentiles of their durations, exact by nearest rank. */
export const durationsSql = `percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY ended_at - started_at)
        FILTER (WHERE status <> 'running' AND ended_at >= started_at)`;

/** The columns of {@link Figures} from `success`, `error`, `timeout` and `durations` of the table `from`. */
export function figuresSql(from: string): string {
  const percentile = (place: number, name: string) =>
    `(extract(epoch FROM ${from}.durations[${place}]) * 1000)::float8 AS ${name}`;
  const failed = `(${from}.error + ${from}.timeout)`;
  return `${failed}::float8 / NULLIF(${failed} + ${from}.success, 0) AS failure_rate,
    ${percentile(1, "p50_ms")}, ${percentile(2, "p90_ms")}, ${percentile(3, "p99_ms")}`;
}

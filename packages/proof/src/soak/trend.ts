/** A straight line through samples, by least squares. */
export interface Trend {
  first: number;
  last: number;
  slopePerHour: number;
  /** The change along the line from the first sample to the last. */
  change: number;
  /** The standard deviation of the samples from the line. */
  noise: number;
}

/** @param samples moments in hours, and values; at least two moments */
export function trendOf(samples: readonly (readonly [hours: number, value: number])[]): Trend {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanHours = mean(samples.map(([hours]) => hours));
  const meanValue = mean(samples.map(([, value]) => value));
  const spread = samples.reduce((sum, [hours]) => sum + (hours - meanHours) ** 2, 0);
  const together = samples.reduce((sum, [hours, value]) => sum + (hours - meanHours) * (value - meanValue), 0);
  const slopePerHour = spread === 0 ? 0 : together / spread;
  const off = samples.map(([hours, value]) => (value - meanValue - slopePerHour * (hours - meanHours)) ** 2);
  const [firstHours = 0, first = 0] = samples[0] ?? [];
  const [lastHours = 0, last = 0] = samples.at(-1) ?? [];
  return { first, last, slopePerHour, change: slopePerHour * (lastHours - firstHours), noise: Math.sqrt(mean(off)) };
}

/** Microseconds since 1970 of an ISO 8601 timestamp in UTC, as the trace API writes them. */
export function toMicros(timestamp: string): number {
  const beyondMillis = /\.\d{3}(\d{1,3})/.exec(timestamp)?.[1] ?? "";
  return Date.parse(timestamp) * 1_000 + Number(beyondMillis.padEnd(3, "0"));
}

/** A length of time for a reader, with about three digits: `340 µs`, `12.3 ms`, `4.25 s`, `2 m 05 s`, `3 h 12 m`. */
export function formatDuration(micros: number): string {
  const sign = micros < 0 ? "-" : "";
  const length = Math.abs(micros);
  if (length < 1_000) return `${sign}${Math.round(length)} µs`;
  if (length < 999_500) return `${sign}${threeDigits(length / 1_000)} ms`;
  if (length < 59_950_000) return `${sign}${threeDigits(length / 1_000_000)} s`;
  const seconds = Math.round(length / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  if (hours === 0) return `${sign}${minutes} m ${twoDigits(seconds % 60)} s`;
  return hours < 100 ? `${sign}${hours} h ${twoDigits(minutes)} m` : `${sign}${Math.round(hours / 24)} d`;
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

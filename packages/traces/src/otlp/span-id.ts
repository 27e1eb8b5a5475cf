/**
 * Derives Waymark's id of an OpenTelemetry span, so that a parent's id is known before the parent arrives and a repeated
 * span has the same id. It is a UUID version 8 (RFC 9562, 5.8) of the trace id's first 48 bits, which sort it by time, and
 * the span's 64 bits: 12 after the version, 52 at the end.
 * @param traceId Waymark's id of the trace, a UUID
 * @param spanId 16 digits of lower-case hexadecimal
 */
export function spanUuid(traceId: string, spanId: string): string {
  return `${traceId.slice(0, 13)}-8${spanId.slice(0, 3)}-800${spanId.slice(3, 4)}-${spanId.slice(4)}`;
}

/**
 * The id of an OpenTelemetry span within its trace: a UUID version 8 (RFC 9562, 5.8) of the first 48 bits of the trace's
 * own id, which keep it near other ids of that time, and of the span's 64 bits: 12 after the version, 52 at the end. So a
 * parent's id is known before the parent comes, and a span that comes again has the same id.
 * @param traceId the trace's id in Waymark, a UUID
 * @param spanId 16 digits of lower-case hexadecimal
 */
export function spanUuid(traceId: string, spanId: string): string {
  return `${traceId.slice(0, 13)}-8${spanId.slice(0, 3)}-800${spanId.slice(3, 4)}-${spanId.slice(4)}`;
}

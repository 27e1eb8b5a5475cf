/**
 * An OTLP trace request from either reader: the fields that Waymark uses of the messages in
 * `opentelemetry/proto/trace/v1/trace.proto` and `common.proto`, as protobufjs decodes them. Ids are bytes.
 */
export interface TraceRequest {
  readonly resourceSpans: readonly ResourceSpans[];
}

export interface ResourceSpans {
  readonly resource?: { readonly attributes: readonly KeyValue[] } | null;
  readonly scopeSpans: readonly ScopeSpans[];
}

export interface ScopeSpans {
  readonly scope?: Scope | null;
  readonly spans: readonly OtlpSpan[];
}

export interface Scope {
  readonly name: string;
  readonly version: string;
  readonly attributes: readonly KeyValue[];
}

export interface OtlpSpan {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId: Uint8Array;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: Unsigned64;
  readonly endTimeUnixNano: Unsigned64;
  readonly attributes: readonly KeyValue[];
  readonly droppedAttributesCount: number;
  readonly events: readonly SpanEvent[];
  readonly droppedEventsCount: number;
  readonly links: readonly SpanLink[];
  readonly droppedLinksCount: number;
  readonly status?: { readonly code: number; readonly message: string } | null;
}

export interface SpanEvent {
  readonly timeUnixNano: Unsigned64;
  readonly name: string;
  readonly attributes: readonly KeyValue[];
}

export interface SpanLink {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly traceState: string;
  readonly attributes: readonly KeyValue[];
}

export interface KeyValue {
  readonly key: string;
  readonly value?: AnyValue | null;
}

/** `value` names the kind of the value, and is absent where there is no value. */
export type AnyValue =
  | { readonly value: "stringValue"; readonly stringValue: string }
  | { readonly value: "boolValue"; readonly boolValue: boolean }
  | { readonly value: "intValue"; readonly intValue: { toString(): string } }
  | { readonly value: "doubleValue"; readonly doubleValue: number }
  | { readonly value: "arrayValue"; readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly value: "kvlistValue"; readonly kvlistValue: { readonly values: readonly KeyValue[] } }
  | { readonly value: "bytesValue"; readonly bytesValue: Uint8Array }
  | { readonly value?: undefined };

/** 64 bits in two halves, since a number has 53. Both are NaN for an invalid number. */
export interface Unsigned64 {
  readonly low: number;
  readonly high: number;
}

/** Levels of arrays and lists in an attribute's value. */
export const maxValueDepth = 200;

/** An unreadable request, with a sentence for the client. */
export class MalformedRequest extends Error {
  override name = "MalformedRequest";
}

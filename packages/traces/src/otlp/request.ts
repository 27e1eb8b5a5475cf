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

/** Members of all lists within one span, log record, resource or scope: attributes, events, links, and values in lists. */
export const maxMembersOfOne = 20_000;

/** An unreadable request, with a sentence for the client. */
export class MalformedRequest extends Error {
  override name = "MalformedRequest";
}

/** Of a trace or span, as a reader gives it: bytes, or lower-case hexadecimal. */
export type Id = Uint8Array | string;

/** In lower-case hexadecimal. protobufjs decodes an absent id as an empty array, not as a Uint8Array. */
export function hex(id: Id): string {
  if (typeof id === "string" || id.length === 0) return id.toString();
  return Buffer.from(id.buffer, id.byteOffset, id.length).toString("hex");
}

const zeros = "0".repeat(32);

/** As {@link hex}; empty for an id of zeros, which is none (W3C Trace Context, 3.2.2), undefined for one of another length. */
export function idText(id: Id, bytes: 8 | 16): string | undefined {
  const text = hex(id);
  if (text !== "" && text.length !== 2 * bytes) return undefined;
  return zeros.startsWith(text) ? "" : text;
}

/** A copy with other members. Spread, a decoded message would lose its empty members: they stand in its prototype. */
export function withMembers<Message extends object>(message: Message, members: Partial<Message>): Message {
  return Object.assign(Object.create(message), members);
}

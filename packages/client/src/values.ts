import { byteLength, classOf, isError, toName, toText } from "./texts.js";

const maxBytes = 1_000_000;
const maxDepth = 100;
const maxNodes = 100_000;
const maxIntegerDigits = 300;
/** Kept for the marks of cut values. */
const markBytes = 200;

/**
 * Any value as JSON of at most a megabyte. What JSON lacks becomes text in its place: `values.py` of the Python SDK has the same
 * rules.
 * @returns undefined for undefined, functions and symbols
 */
export function toJsonText(value: unknown): string | undefined {
  return new Writer().write(value, 0);
}

/** A value as JSON, if that is an object: a service that refused other attributes would refuse their span. */
export function toObjectText(value: unknown): string | undefined {
  const text = toJsonText(value);
  return text?.startsWith("{") ? text : undefined;
}

/** Writes one value in bounded size, depth and time. */
class Writer {
  private readonly open = new Set<object>();
  private leftBytes = maxBytes - markBytes * maxDepth;
  private leftNodes = maxNodes;

  write(value: unknown, depth: number): string | undefined {
    this.leftNodes--;
    try {
      return this.writeAny(value, depth);
    } catch (error) {
      return this.text(`[no JSON: ${toText(isError(error) ? error.message : error)}]`);
    }
  }

  private writeAny(value: unknown, depth: number): string | undefined {
    switch (typeof value) {
      case "string":
        return this.text(value);
      case "number":
        return Number.isFinite(value) ? this.raw(JSON.stringify(value)) : this.text(String(value));
      case "boolean":
        return this.raw(String(value));
      case "bigint": {
        const digits = String(value);
        return digits.length <= maxIntegerDigits
          ? this.raw(digits)
          : this.text(`[an integer of ${digits.length} digits]`);
      }
      case "object":
        return value === null ? this.raw("null") : this.container(value, depth);
      default:
        return undefined;
    }
  }

  private container(value: object, depth: number): string | undefined {
    if (this.open.has(value)) return this.text("[circular]");
    if (depth >= maxDepth) return this.text("[too deep]");
    this.open.add(value);
    try {
      const { value: simple, isSimple } = simplified(value);
      if (isSimple) return this.write(simple, depth + 1);
      if (Array.isArray(simple)) return this.list(simple, depth);
      return this.members(simple as Iterable<[unknown, unknown]>, depth);
    } finally {
      this.open.delete(value);
    }
  }

  private list(items: readonly unknown[], depth: number): string {
    const parts: string[] = [];
    for (const [index, item] of items.entries()) {
      if (this.isFull()) {
        parts.push(JSON.stringify(`[cut: ${items.length - index} more]`));
        break;
      }
      parts.push(this.write(item, depth + 1) ?? this.raw("null"));
      this.leftBytes--;
    }
    this.leftBytes -= 2;
    return `[${parts.join(",")}]`;
  }

  private members(members: Iterable<[unknown, unknown]>, depth: number): string {
    const parts: string[] = [];
    for (const [key, member] of members) {
      if (this.isFull()) {
        parts.push('"[cut]":"[cut: more members]"');
        break;
      }
      if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
      const name = this.text(typeof key === "string" ? key : toName(key));
      parts.push(`${name}:${this.write(member, depth + 1) ?? this.raw("null")}`);
      this.leftBytes -= 2;
    }
    this.leftBytes -= 2;
    return `{${parts.join(",")}}`;
  }

  private isFull(): boolean {
    return this.leftBytes <= 0 || this.leftNodes <= 0;
  }

  private raw(text: string): string {
    this.leftBytes -= text.length;
    return text;
  }

  /** A text whose JSON is longer than what is left is cut. */
  private text(value: string): string {
    for (let kept = Math.min(value.length, Math.max(0, this.leftBytes)); ; kept = Math.floor(kept / 2)) {
      const part = kept < value.length ? `${value.slice(0, kept)}… [cut: ${value.length} characters in all]` : value;
      const text = JSON.stringify(part.toWellFormed());
      const bytes = byteLength(text);
      if (bytes <= this.leftBytes + markBytes || kept === 0) {
        this.leftBytes -= bytes;
        return text;
      }
    }
  }
}

type Simplified = { value: unknown; isSimple: boolean };

/** A list, members, or a simpler value that stands for an object. */
function simplified(value: object): Simplified {
  const simple = (text: unknown): Simplified => ({ value: text, isSimple: true });
  const members = (entries: Iterable<[unknown, unknown]>): Simplified => ({ value: entries, isSimple: false });
  if (Array.isArray(value)) return { value, isSimple: false };
  if (isError(value)) return members(membersOfError(value));
  if (ArrayBuffer.isView(value))
    return simple(bytesAsText(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)));
  if (value instanceof ArrayBuffer) return simple(bytesAsText(new Uint8Array(value)));
  if (value instanceof Date) return simple(Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString());
  if (value instanceof Map) return members(value.entries());
  if (value instanceof Set) return { value: [...value], isSimple: false };
  if ("toJSON" in value && typeof value.toJSON === "function") return simple(value.toJSON(""));
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (tag === "Headers" || tag === "FormData") return members((value as Map<unknown, unknown>).entries());
  if (tag === "RegExp" || tag === "URLSearchParams") return simple(String(value));
  if (tag === "String" || tag === "Number" || tag === "Boolean" || tag === "BigInt") return simple(value.valueOf());
  if (/^(?:Promise|.*Stream|.*Generator|.*Iterator|Response|Request|Weak.*|Blob|File)$/.test(tag))
    return simple(`[${tag}]`);
  return members(ownMembers(value));
}

function* ownMembers(value: object): Generator<[string, unknown]> {
  for (const key of Object.keys(value)) {
    try {
      yield [key, (value as Record<string, unknown>)[key]];
    } catch (error) {
      yield [key, `[no JSON: ${toText(isError(error) ? error.message : error)}]`];
    }
  }
}

function* membersOfError(error: Error): Generator<[string, unknown]> {
  yield ["name", classOf(error)];
  yield ["message", error.message];
  yield ["stack", error.stack];
  if (error.cause !== undefined) yield ["cause", error.cause];
  if ("errors" in error && Array.isArray(error.errors)) yield ["errors", error.errors];
  for (const [key, value] of ownMembers(error))
    if (!["name", "message", "stack", "cause", "errors"].includes(key)) yield [key, value];
}

/** As text where the bytes are UTF-8, else as base64. */
function bytesAsText(bytes: Uint8Array): string {
  const part = bytes.subarray(0, maxBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: part.length < bytes.length });
  } catch {
    let binary = "";
    for (let at = 0; at < part.length; at += 8_192) binary += String.fromCharCode(...part.subarray(at, at + 8_192));
    return `base64:${btoa(binary)}`;
  }
}

import { visitAttribute } from "../visit.js";
import type { StringFormat } from "./conventions.js";
import { type AnyValue, type KeyValue, maxValueDepth } from "./request.js";

/** A value as JSON text: bytes in base64, NaN and infinities as strings, no value as `null`. */
export function jsonOfValue(value: AnyValue | null | undefined): string {
  switch (value?.value) {
    case "stringValue":
      return JSON.stringify(value.stringValue);
    case "boolValue":
      return value.boolValue ? "true" : "false";
    case "intValue":
      return value.intValue.toString();
    case "doubleValue":
      return jsonOfDouble(value.doubleValue);
    case "arrayValue":
      return `[${value.arrayValue.values.map(jsonOfValue).join(",")}]`;
    case "kvlistValue":
      return jsonOfAttributes(value.kvlistValue.values);
    case "bytesValue":
      return `"${Buffer.from(value.bytesValue).toString("base64")}"`;
    default:
      return "null";
  }
}

export function jsonOfAttributes(attributes: readonly KeyValue[]): string {
  let members = "";
  for (const { key, value } of attributes) {
    if (key === visitAttribute) continue;
    members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${jsonOfValue(value)}`;
  }
  return `{${members}}`;
}

function jsonOfDouble(double: number): string {
  if (Object.is(double, -0)) return "-0.0";
  return Number.isFinite(double) ? String(double) : `"${double}"`;
}

export function textOfValue(value: AnyValue | null | undefined): string | undefined {
  return value?.value === "stringValue" ? value.stringValue : undefined;
}

/** An input or output attribute as JSON text. A string with JSON in it becomes that JSON. */
export function jsonOfContent(value: AnyValue | null | undefined, format: StringFormat = "guess"): string {
  const text = textOfValue(value);
  if (text === undefined) return jsonOfValue(value);
  return (format !== "text" && jsonIn(text, format)) || JSON.stringify(text);
}

/** The line that Claude Code puts before a tool's input. */
const letterhead = /^\[TOOL INPUT: [^\]\n]{0,200}\]\n/;

/** The text itself if it is JSON of the format. Parsing and writing it again would alter it. */
function jsonIn(text: string, format: StringFormat): string | undefined {
  const trimmed = text.trim().replace(letterhead, "");
  if (format === "guess" && !/^[[{]/.test(trimmed)) return undefined;
  if (!trimmed.isWellFormed() || isTooDeep(trimmed)) return undefined;
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch {
    return undefined;
  }
}

/** Whether the text nests too deeply. Brackets within strings count too, so an odd text may stay a string. */
function isTooDeep(text: string): boolean {
  if (!isBeyond(text, "{", "[")) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
    if (depth > maxValueDepth) return true;
  }
  return false;
}

/** A cheap check before the exact one. */
function isBeyond(text: string, ...brackets: readonly string[]): boolean {
  let count = 0;
  for (const bracket of brackets) {
    for (let i = text.indexOf(bracket); i >= 0 && count <= maxValueDepth; i = text.indexOf(bracket, i + 1)) count++;
  }
  return count > maxValueDepth;
}

/** Segments of a name; the last one keeps the rest of a deeper name. */
const maxSegments = 12;

type Branch = Map<string, Node>;
type Node = Branch | { readonly leaf: AnyValue | null | undefined };

interface IndexedList {
  json: string;
  placed: readonly KeyValue[];
}

/**
 * Reads names as paths: `gen_ai.prompt.0.role` and `gen_ai.prompt.0.content` become `[{"role":…,"content":…}]`. A level
 * with only numbers becomes a list in their order, without gaps. Of attributes that exclude each other, such as
 * `gen_ai.prompt.0` and `gen_ai.prompt.0.role`, the first is placed.
 * @param prefix the start of the names, with the dot
 */
export function jsonOfIndexed(attributes: readonly KeyValue[], prefix: string): IndexedList {
  const root: Branch = new Map();
  const placed = attributes.filter(({ key, value }) => place(root, pathOf(key.slice(prefix.length)), value));
  return { json: write(root), placed };
}

/** OpenInference puts each element of a list into an object with one member. */
const wrappers: ReadonlySet<string> = new Set(["message", "message_content", "tool_call", "document"]);

function pathOf(name: string): string[] {
  const all = name.split(".");
  const isWrapper = (segment: string, n: number) => wrappers.has(segment) && /^\d/.test(all[n - 1] ?? "");
  const segments = all.filter((segment, n) => n === all.length - 1 || !isWrapper(segment, n));
  if (segments.length <= maxSegments) return segments;
  return [...segments.slice(0, maxSegments - 1), segments.slice(maxSegments - 1).join(".")];
}

/** Places a value; false where the path runs through another value or ends at one. */
function place(root: Branch, path: readonly string[], leaf: AnyValue | null | undefined): boolean {
  let branch = root;
  for (const segment of path.slice(0, -1)) {
    const next = branch.get(segment) ?? new Map<string, Node>();
    if (!(next instanceof Map)) return false;
    branch.set(segment, next);
    branch = next;
  }
  const last = path.at(-1) ?? "";
  if (branch.has(last)) return false;
  branch.set(last, { leaf });
  return true;
}

function write(node: Node): string {
  if (!(node instanceof Map)) return jsonOfContent(node.leaf);
  const entries = [...node];
  if (entries.every(([name]) => /^\d{1,9}$/.test(name))) {
    const inOrder = entries.sort(([a], [b]) => Number(a) - Number(b));
    return `[${inOrder.map(([, member]) => write(member)).join(",")}]`;
  }
  return `{${entries.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(",")}}`;
}

/** With U+FFFD for NUL and lone surrogates, which Postgres cannot hold. @param maxLength in UTF-16 code units */
export function storableText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "") : text;
  return cut.toWellFormed().replaceAll("\u0000", "\ufffd");
}

import { jsonOfContent } from "./json-of-content.js";
import type { AnyValue, KeyValue } from "./request.js";

/** Segments of a name; the last one keeps the rest of a deeper name. */
const maxSegments = 12;

type Branch = Map<string, Node>;
type Node = Branch | { readonly leaf: AnyValue | null | undefined };

export interface IndexedList {
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

function pathOf(name: string): string[] {
  const segments = name.split(".");
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

import { jsonOfContent } from "./form.js";
import type { AnyValue, KeyValue } from "./request.js";

/** How far names are taken apart; what goes deeper stays one name. */
const maxSegments = 12;

type Node = Map<string, Node> | { readonly leaf: AnyValue | null | undefined };

/**
 * Attributes whose names are paths, as a list: `gen_ai.prompt.0.role` and `gen_ai.prompt.0.content` become
 * `[{"role":…,"content":…}]`. Where all names at one place are numbers, it is a list in their order, without gaps.
 * @param prefix what the names begin with, with the dot
 */
export function jsonOfIndexed(attributes: readonly KeyValue[], prefix: string): string {
  const root: Map<string, Node> = new Map();
  for (const { key, value } of attributes) {
    const path = key.slice(prefix.length).split(".", maxSegments);
    const last = path.pop() ?? "";
    let place = root;
    for (const segment of path) {
      let next = place.get(segment);
      if (!(next instanceof Map)) {
        next = new Map<string, Node>();
        place.set(segment, next);
      }
      place = next;
    }
    place.set(last, { leaf: value });
  }
  return write(root);
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

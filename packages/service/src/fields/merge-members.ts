import { objectMembers } from "./json-members.js";

/**
 * Replaces members of a JSON object as text. New ones go to the end, null removes one; the others keep text and order.
 * @param base a valid JSON object
 * @param changes a valid JSON object; the last of doubled keys counts
 */
export function mergeMembers(base: string, changes: string): string {
  const changed = new Map(objectMembers(changes).map(({ key, value }) => [key, value]));
  const kept: string[] = [];
  const seen = new Set<string>();
  const add = (key: string, value: string) => {
    if (value !== "null" && !seen.has(key)) kept.push(`${JSON.stringify(key)}:${value}`);
    seen.add(key);
  };
  for (const { key, text } of objectMembers(base)) {
    const replacement = changed.get(key);
    if (replacement === undefined) kept.push(text);
    else add(key, replacement);
  }
  for (const [key, value] of changed) add(key, value);
  return `{${kept.join(",")}}`;
}

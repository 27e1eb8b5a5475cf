import { jsonOfValue, textOfValue } from "./any-value.js";
import type { StringFormat } from "./conventions.js";
import { type AnyValue, maxValueDepth } from "./request.js";

/** An input or output attribute as JSON text. A string with JSON in it becomes that JSON. */
export function jsonOfContent(value: AnyValue | null | undefined, format: StringFormat = "guess"): string {
  const text = textOfValue(value);
  if (text === undefined) return jsonOfValue(value);
  return (format !== "text" && jsonIn(text, format)) || JSON.stringify(text);
}

/** The text itself if it is JSON of the format. Parsing and writing it again would alter it. */
function jsonIn(text: string, format: StringFormat): string | undefined {
  const trimmed = text.trim();
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

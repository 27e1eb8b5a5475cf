import { jsonOfValue, textOfValue } from "./any-value.js";
import type { Form } from "./conventions.js";
import { type AnyValue, maxValueDepth } from "./request.js";

/** The JSON text of an attribute that says what went in or came out: JSON in a string becomes that JSON. */
export function jsonOfContent(value: AnyValue | null | undefined, form: Form = "look"): string {
  const text = textOfValue(value);
  if (text === undefined) return jsonOfValue(value);
  return (form !== "text" && jsonIn(text, form)) || JSON.stringify(text);
}

/** The text itself, where it is JSON of the form. Kept as it is: writing it anew would alter it. */
function jsonIn(text: string, form: Form): string | undefined {
  const trimmed = text.trim();
  if (form === "look" && !/^[[{]/.test(trimmed)) return undefined;
  if (!trimmed.isWellFormed() || isTooDeep(trimmed)) return undefined;
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch {
    return undefined;
  }
}

/** Whether more nests than may; brackets within strings count too, so that an odd text may stay a string. */
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

/** Whether there are so many brackets at all, which is rare and soon seen. */
function isBeyond(text: string, ...brackets: readonly string[]): boolean {
  let count = 0;
  for (const bracket of brackets) {
    for (let i = text.indexOf(bracket); i >= 0 && count <= maxValueDepth; i = text.indexOf(bracket, i + 1)) count++;
  }
  return count > maxValueDepth;
}

import { z } from "zod";

/** The reason why Postgres cannot store a text, if any: NUL or a lone surrogate. */
export function textProblem(text: string): string | undefined {
  if (text.includes("\u0000")) return "Must not contain the NUL character (U+0000)";
  if (!text.isWellFormed()) return "Must not contain a lone surrogate (half of a UTF-16 pair)";
  return undefined;
}

/**
 * A text field, stored exactly as given.
 * @param bounds lengths in UTF-16 code units; `min` is 0 if omitted
 */
export function textField(bounds: { min?: number; max?: number } = {}) {
  let field = z.string();
  if (bounds.min !== undefined) field = field.min(bounds.min);
  if (bounds.max !== undefined) field = field.max(bounds.max);
  return field.check(({ value, issues }) => {
    const message = textProblem(value);
    if (message) issues.push({ code: "custom", message, input: value });
  });
}

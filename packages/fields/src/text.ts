import { z } from "zod";

/** What stops a text from being stored as it is, or undefined: NUL and lone surrogates have no form in Postgres text. */
export function textProblem(text: string): string | undefined {
  if (text.includes("\u0000")) return "Must not contain the NUL character (U+0000)";
  if (!text.isWellFormed()) return "Must not contain a lone surrogate (half of a UTF-16 pair)";
  return undefined;
}

/**
 * A text field that is stored exactly as given.
 * @param bounds lengths in UTF-16 code units, as JavaScript counts them; `min` is 0 where not given
 */
export function textField(bounds: { min?: number; max?: number } = {}) {
  let field = z.string();
  if (bounds.min !== undefined) field = field.min(bounds.min);
  if (bounds.max !== undefined) field = field.max(bounds.max);
  return field.superRefine((text, context) => {
    const problem = textProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });
}

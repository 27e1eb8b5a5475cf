import { z } from "zod";

/** Describes a query parameter by the JSON Schema of its value: the Zod schema only shows the text it parses. */
export function asParameter<Schema extends z.ZodType>(
  jsonSchema: Readonly<Record<string, unknown>>,
  schema: Schema,
): Schema {
  return schema.meta({ ...schema.meta(), "x-form": jsonSchema });
}

/** A query parameter with one or several of some words, separated by commas. */
export function wordsParameter<const Word extends string>(words: readonly Word[]) {
  const message = `Must be one or several of these, separated by commas: ${words.join(", ")}`;
  return asParameter(
    { type: "array", items: { enum: [...words] }, minItems: 1 },
    z
      .string(message)
      .transform((text) => [...new Set(text.split(","))])
      .refine((asked): asked is Word[] => asked.every((word) => (words as readonly string[]).includes(word)), message)
      .optional(),
  );
}

/** An optional field with one of some words. Null is invalid, and its message explains that. */
export function optionalChoice<const Word extends string>(words: readonly Word[]) {
  const message = `May be left out, else must be one of: ${words.join(", ")}`;
  return z.enum(words, { error: ({ input }) => (input === null ? message : undefined) }).optional();
}

/** The reason why Postgres cannot store a text, if any: NUL or a lone surrogate. */
export function textProblem(text: string): string | undefined {
  if (text.includes("\u0000")) return "Must not contain the NUL character (U+0000)";
  if (!text.isWellFormed()) return "Must not contain a lone surrogate (half of a UTF-16 pair)";
  return undefined;
}

/** A text field, stored as given. Its bounds are lengths in UTF-16 code units; `min` is 0 if omitted. */
export function textField(bounds: { min?: number; max?: number } = {}) {
  let field = z.string();
  if (bounds.min !== undefined) field = field.min(bounds.min);
  if (bounds.max !== undefined) field = field.max(bounds.max);
  return field.check(({ value, issues }) => {
    const message = textProblem(value);
    if (message) issues.push({ code: "custom", message, input: value });
  });
}

const address = /https?:|\/\/|@|[\p{L}\p{N}][.。．｡]\p{L}{2,}/iu;

export function nameProblem(text: string): string | undefined {
  return address.test(text) ? "Must not have an address of a website or of mail in it" : undefined;
}

/** RFC 5321 sets the limit of 254. */
const addressRule = z.email().max(254);

export function normaliseEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return addressRule.safeParse(email).data;
}

export function emailField() {
  return z.string().transform((text, context) => {
    const email = normaliseEmail(text);
    if (email !== undefined) return email;
    context.addIssue({ code: "custom", message: "Must be an email address" });
    return z.NEVER;
  });
}

/** A valid JSON value as its text: parsing would alter it (digits of large numbers, doubled and integer-like keys). */
export class JsonText {
  constructor(readonly text: string) {}
}

export function jsonField() {
  return z
    .custom<JsonText | null>((input) => input === null || input instanceof JsonText)
    .meta({ description: "Any JSON value; kept and given back exactly", "x-json": "any" });
}

export function jsonObjectField() {
  return z
    .custom<JsonText | null>((input) => input === null || (input instanceof JsonText && input.text.startsWith("{")), {
      message: "Must be a JSON object or null",
    })
    .meta({ description: "Any JSON object; kept and given back exactly", "x-json": "object" });
}

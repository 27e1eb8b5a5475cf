import { validationError } from "@waymark/errors";
import type { z } from "zod";

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/**
 * Parses client input.
 * @throws AppError 400 with a message for each field path: `Required` for a missing or null field, otherwise a sentence
 * (design, "Common to both services")
 */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = check(schema, input);
  if ("fields" in result) throw validationError(result.fields);
  return result.data;
}

/** Like {@link validate}, but returns the messages. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): { data: z.output<Schema> } | { fields: Record<string, string> } {
  const result = schema.safeParse(input, { error: describe });
  if (result.success) return { data: result.data };
  const fields: Record<string, string> = {};
  for (const issue of result.error.issues) {
    const path = issue.path.join(".") || "body";
    fields[path] ??= issue.message;
  }
  return { fields };
}

/** The sentence for an issue without a message from the schema. */
function describe(issue: RawIssue): string | undefined {
  if ((issue.input === undefined || issue.input === null) && issue.code !== "custom") return "Required";
  switch (issue.code) {
    case "invalid_type":
      return `Must be ${withArticle(issue.expected)}, not ${kindOf(issue.input)}`;
    case "invalid_value":
      return `Must be one of: ${issue.values.join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "Must not be empty";
      return issue.origin === "array" ? "Must not be an empty list" : `Must be at least ${issue.minimum}`;
    case "too_big":
      return `Must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    default:
      return undefined;
  }
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " elements" : "";
}

function withArticle(type: string): string {
  return type === "object" ? "a JSON object" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return "an array";
  return withArticle(typeof input);
}

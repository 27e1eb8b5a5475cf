import { z } from "zod";

/** An optional field with one of some words. Null is invalid, and its message explains that. */
export function optionalChoice<const Word extends string>(words: readonly Word[]) {
  const message = `May be left out, else must be one of: ${words.join(", ")}`;
  return z.enum(words, { error: ({ input }) => (input === null ? message : undefined) }).optional();
}

import { z } from "zod";

/** One of some words, in a field that may be left out but has no null: the message for null says so. */
export function optionalChoice<const Word extends string>(words: readonly Word[]) {
  const message = `May be left out, else must be one of: ${words.join(", ")}`;
  return z.enum(words, { error: ({ input }) => (input === null ? message : undefined) }).optional();
}

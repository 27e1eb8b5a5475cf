import { textField } from "@waymark/service/fields";
import { maxScoreName, timestamp } from "@waymark/traces";
import { z } from "zod";

const maxTextLength = 1_000;
/** As many digits as `min_score` and `max_score` take. */
const maxNumber = 1e15;
const valueMessage = `Must be a number from -1e15 to 1e15, true, false, or a text of 1 to ${maxTextLength.toLocaleString("en")} characters`;

/** A score's value as answers show it. */
export const scoreValueSchema = z.union([z.number(), z.boolean(), z.string()]);

/** The body of `POST /traces/:trace_id/scores`. */
export const newScoreSchema = z.object({
  name: textField({ min: 1, max: maxScoreName }).describe("What the score is about: `helpful`, `accuracy`"),
  value: z.union([z.number().min(-maxNumber).max(maxNumber), z.boolean(), textField({ min: 1, max: maxTextLength })], {
    error: valueMessage,
  }),
  comment: textField({ max: 4_000 }).nullish(),
});

export type NewScore = z.output<typeof newScoreSchema>;

/** A score of `?include=scores`. */
export const traceScoreSchema = z.object({
  id: z.string(),
  span_id: z.string().nullable().describe("Null for a score of the whole trace"),
  name: z.string(),
  value: scoreValueSchema,
  comment: z.string().nullable(),
  created_at: timestamp,
});

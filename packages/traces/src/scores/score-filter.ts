import { asParameter, textField } from "@waymark/service/fields";
import { z } from "zod";

export const maxScoreName = 100;

/** Finds traces with a score of this name, of the trace or a span; true counts as 1, false as 0. */
export interface ScoreFilter {
  name: string;
  min?: number | undefined;
  max?: number | undefined;
}

const message = "Must be a number";

const bound = (description: string) =>
  asParameter(
    { type: "number" },
    z
      .string(message)
      .regex(/^-?\d{1,15}(\.\d{1,15})?$/, message)
      .transform(Number)
      .optional()
      .describe(description),
  );

export const scoreParameters = {
  score: textField({ min: 1, max: maxScoreName }).optional().describe("Only traces with a score of this name"),
  min_score: bound("With `score`: of at least this value; true counts as 1, false as 0"),
  max_score: bound("With `score`: of at most this value"),
};

interface ScoreQuery {
  score?: string | undefined;
  min_score?: number | undefined;
  max_score?: number | undefined;
}

/** Refuses bounds without a name. */
export function checkScore({ score, min_score, max_score }: ScoreQuery, context: z.RefinementCtx): void {
  if (score !== undefined) return;
  const named = { min_score, max_score };
  for (const [path, value] of Object.entries(named))
    if (value !== undefined)
      context.addIssue({ code: "custom", path: [path], message: "Needs score, the name of the score" });
}

export function scoreFilterOf({ score, min_score, max_score }: ScoreQuery): ScoreFilter | undefined {
  return score === undefined ? undefined : { name: score, min: min_score, max: max_score };
}

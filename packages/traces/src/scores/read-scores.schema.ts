import { z } from "zod";
import { checkRange, rangeParameters, recentRange } from "../paging.js";
import type { AgentScoresToRead } from "./read-scores.query.js";

const defaultDays = 30;

export const agentScoresQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts scores of traces that started at this time or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe("Counts scores of traces that started before this time; now if omitted"),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function agentScoresToRead(
  of: Pick<AgentScoresToRead, "accountId" | "agentId">,
  query: z.output<typeof agentScoresQuerySchema>,
  now: Date,
): AgentScoresToRead {
  return { ...of, ...recentRange(query, { now, days: defaultDays }) };
}

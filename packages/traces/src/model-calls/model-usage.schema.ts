import { textField } from "@waymark/service/fields";
import { z } from "zod";
import { checkRange, rangeParameters, recentRange } from "../paging.js";
import type { ModelUsage, ModelUsageToRead } from "./read-model-usage.query.js";

const defaultDays = 30;
const dayMs = 86_400_000;

export const modelUsageQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts calls of spans that started on this UTC day or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe(
      "Counts calls of spans that started before the end of this UTC day, or before it if it is midnight; now if omitted",
    ),
    agent_id: textField({ min: 1, max: 255 }).optional().describe("Only this agent's calls"),
  })
  .superRefine(checkRange);

/**
 * Widens the range to whole days.
 * @throws AppError 400 if `from` is not before now and there is no `to`
 */
export function modelUsageToRead(
  accountId: string,
  query: z.output<typeof modelUsageQuerySchema>,
  now: Date,
): ModelUsageToRead {
  const range = recentRange(query, { now, days: defaultDays });
  const dayAt = (days: number) => new Date(days * dayMs).toISOString().slice(0, 10);
  const from = dayAt(Math.floor(Date.parse(range.from) / dayMs));
  const to = dayAt(Math.min(Math.ceil(Date.parse(range.to) / dayMs), lastDay));
  return { accountId, from, to, agentId: query.agent_id };
}

/** The last day that a timestamp of the contract can name. */
const lastDay = Date.parse("9999-12-31T00:00:00Z") / dayMs;

type ModelUsageBody = Pick<ModelUsageToRead, "from" | "to"> & ModelUsage;

export function presentModelUsage({ from, to }: ModelUsageToRead, { models, series }: ModelUsage): ModelUsageBody {
  return { from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z`, models, series };
}

import { textProblem } from "@waymark/service/fields";
import { z } from "zod";
import type { AgentPage, AgentsToList } from "./list-agents.query.js";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters, recentRange } from "./paging.js";

/** The range without `from` covers this many days before `to`. */
const defaultDays = 30;

export const agentQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts traces that started at this time or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe("Counts traces that started before this time; now if omitted"),
    include: z
      .enum(["figures"])
      .optional()
      .describe("`figures` adds failure rate, percentiles of the durations, tokens and cost"),
    limit: limitParameter,
    cursor: cursorParameter((text) => (text !== "" && textProblem(text) === undefined ? text : undefined)),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function agentsToList(accountId: string, query: z.output<typeof agentQuerySchema>, now: Date): AgentsToList {
  const range = recentRange(query, { now, days: defaultDays });
  return {
    accountId,
    ...range,
    after: query.cursor ?? "",
    limit: query.limit,
    withFigures: query.include === "figures",
  };
}

type AgentPageBody = Omit<AgentPage, "isLast"> & { next_cursor: string | null };

export function presentAgentPage({ agents, from, to, isLast }: AgentPage): AgentPageBody {
  return { agents, from, to, next_cursor: isLast ? null : encodeCursor(agents.at(-1)?.id ?? "") };
}

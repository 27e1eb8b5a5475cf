import { validationError } from "@waymark/errors";
import { textProblem } from "@waymark/fields";
import { z } from "zod";
import type { AgentPage, AgentsToList } from "./list-agents.query.js";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters } from "./paging.js";

/** The range without `from` covers this many days before `to`. */
const defaultDays = 30;
/** The first millisecond that a timestamp of the contract can name. */
const earliestMs = Date.parse("0001-01-01T00:00:00Z");

export const agentQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts traces that started at this time or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe("Counts traces that started before this time; now if omitted"),
    limit: limitParameter,
    cursor: cursorParameter((text) => (text !== "" && textProblem(text) === undefined ? text : undefined)),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function agentsToList(accountId: string, query: z.output<typeof agentQuerySchema>, now: Date): AgentsToList {
  const to = query.to ?? now.toISOString();
  const from = query.from ?? new Date(Math.max(earliestMs, Date.parse(to) - defaultDays * 86_400_000)).toISOString();
  if (query.to === undefined && from >= to)
    throw validationError({ from: "Must be before now, where to is not given" });
  return {
    accountId,
    from: withoutZeros(from),
    to: withoutZeros(to),
    after: query.cursor ?? "",
    limit: query.limit,
  };
}

type AgentPageBody = Omit<AgentPage, "isLast"> & { next_cursor: string | null };

export function presentAgentPage({ agents, from, to, isLast }: AgentPage): AgentPageBody {
  return { agents, from, to, next_cursor: isLast ? null : encodeCursor(agents.at(-1)?.id ?? "") };
}

/** A timestamp as answers show it: milliseconds, and microseconds if there are any. */
function withoutZeros(time: string): string {
  return time.replace(/(\.\d{3})000Z$/, "$1Z");
}

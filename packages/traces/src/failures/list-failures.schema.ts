import { isUuid } from "@waymark/database";
import { textField } from "@waymark/service/fields";
import { z } from "zod";
import { checkRange, cursorParameter, encodeCursor, limitParameter, rangeParameters, recentRange } from "../paging.js";
import type { FailureCursor, FailurePage, FailuresToList } from "./list-failures.query.js";

const defaultDays = 30;

export const failureQuerySchema = z
  .object({
    from: rangeParameters.from.describe(
      `Counts traces that started at this time or later; ${defaultDays} days before \`to\` if omitted`,
    ),
    to: rangeParameters.to.describe("Counts traces that started before this time; now if omitted"),
    agent_id: textField({ min: 1, max: 255 }).optional().describe("Counts traces of this agent alone"),
    limit: limitParameter,
    cursor: cursorParameter(readCursor),
  })
  .superRefine(checkRange);

/** @throws AppError 400 if `from` is not before now and there is no `to` */
export function failuresToList(
  accountId: string,
  query: z.output<typeof failureQuerySchema>,
  now: Date,
): FailuresToList {
  const range = recentRange(query, { now, days: defaultDays });
  return { accountId, ...range, agentId: query.agent_id, after: query.cursor, limit: query.limit };
}

export function presentFailurePage({ failures, isLast }: FailurePage) {
  const last = failures.at(-1);
  return {
    failures: failures.map((each) => ({
      id: each.id,
      agent_id: each.agent_id,
      span_name: each.span_name,
      error: each.error,
      count: each.count,
      first_at: each.first_at,
      last_at: each.last_at,
      trace_id: each.trace_id,
      muted_until: each.muted_until,
    })),
    next_cursor: isLast || !last ? null : encodeCursor(`${last.count} ${last.id}`),
  };
}

function readCursor(text: string): FailureCursor | undefined {
  const [count = "", id = "", ...rest] = text.split(" ");
  return /^[1-9]\d{0,6}$/.test(count) && isUuid(id) && rest.length === 0 ? { count: Number(count), id } : undefined;
}

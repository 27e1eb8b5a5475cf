import { named } from "@waymark/http";
import { type ListName, listNames, lists } from "@waymark/lists";
import { checkRange, limitParameter, listsParameter, rangeAnswer, rangeParameters } from "@waymark/statistics";
import { z } from "zod";

const contractNames = listNames.filter((name) => lists[name].isInContract);
const furtherNames = listNames.filter((name) => !lists[name].isInContract);
/** The query parameters of `GET /sites/:id/stats`. */
export const statsQuery = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: listsParameter,
    interval: z.enum(["day"]).optional().describe("Extension: adds `series`, the figures of every day"),
    compare: z.enum(["previous"]).optional().describe("Extension: adds `previous`, the totals of the days before"),
  })
  .superRefine(checkRange);

const count = z.number();

/** The answer of `GET /sites/:id/stats`: the contract's members, then the extensions. */
export const statsAnswer = named(
  "Stats",
  z.object({
    ...rangeAnswer,
    pageviews: count,
    uniqueVisitors: count,
    ...Object.fromEntries(contractNames.map((name) => [name, describeList(name)])),
    ...Object.fromEntries(
      furtherNames.map((name) => [
        name,
        describeList(name).optional().describe("Extension: present when `lists` names it"),
      ]),
    ),
    series: z
      .array(z.object({ day: z.string(), visitors: count, pageviews: count }))
      .optional()
      .describe("Extension: with `interval=day`, every day of the range in order"),
    previous: z
      .object({ from: z.string(), to: z.string(), pageviews: count, uniqueVisitors: count })
      .optional()
      .describe("Extension: with `compare=previous`, the totals of as many whole days before the range"),
  }),
);

function describeList(name: ListName): z.ZodType {
  const { key, showsPageviews, isWhole } = lists[name];
  const figures = { visitors: count, ...(showsPageviews && { pageviews: count }) };
  return isWhole ? z.record(z.string(), z.object(figures)) : z.array(z.object({ [key]: z.string(), ...figures }));
}

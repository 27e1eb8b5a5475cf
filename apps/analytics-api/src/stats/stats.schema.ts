import { asParameter } from "@waymark/fields";
import { named } from "@waymark/http";
import { type ListName, listNames, lists } from "@waymark/lists";
import { checkRange, rangeParameters } from "@waymark/statistics";
import { z } from "zod";

const contractNames = listNames.filter((name) => lists[name].isInContract);
const furtherNames = listNames.filter((name) => !lists[name].isInContract);
const namesMessage = `Must be names of lists, separated by commas: ${listNames.join(", ")}`;
const limitMessage = "Must be a whole number from 1 to 1000";

/** `?lists=` as names in the request's order, each once. */
const listsParameter = asParameter(
  { type: "array", items: { enum: listNames }, minItems: 1, examples: [["browsers", "entryPages"]] },
  z
    .string(namesMessage)
    .refine((text) => text.split(",").every((name) => Object.hasOwn(lists, name)), namesMessage)
    .transform((text) => [...new Set(text.split(","))] as ListName[])
    .default([])
    .describe(
      `Extension: further lists, separated by commas: ${furtherNames.join(", ")}. With \`Accept: text/csv\` exactly one list, also from ${contractNames.join(", ")}`,
    ),
);

/** `?limit=` as a number; a repeated parameter is an array and is refused. */
const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: 1_000, default: 10 },
  z
    .string()
    .regex(/^\d{1,4}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 1_000, limitMessage)
    .default(10)
    .describe("Rows of each top list, 1 to 1000"),
);

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
    range: z.string(),
    from: z
      .string()
      .optional()
      .describe("Extension: the first day when the request has `from` and `to`; `range` is then `custom`"),
    to: z.string().optional(),
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

import { asParameter } from "@waymark/service/fields";
import { z } from "zod";
import { type ListName, listNames, lists } from "../lists/lists.js";
import { type Filter, FilterError, filterBounds, filterDimensions, operators, parseFilters } from "./filters/filter.js";
import { askedNames } from "./metrics.js";

const contractNames = listNames.filter((name) => lists[name].isInContract);
const furtherNames = listNames.filter((name) => !lists[name].isInContract);
const namesMessage = `Must be names of lists, separated by commas: ${listNames.join(", ")}`;
const limitMessage = "Must be a whole number from 1 to 1000";

/** `?lists=` as names in the request's order, each once. */
export const listsParameter = asParameter(
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

const metricsMessage = `Must be names of metrics, separated by commas: ${askedNames.join(", ")}`;

/** `?metrics=` as names in the answer's order, each once. */
export const metricsParameter = asParameter(
  { type: "array", items: { enum: [...askedNames] }, minItems: 1, examples: [["visits", "bounceRate"]] },
  z
    .string(metricsMessage)
    .refine((text) => text.split(",").every((name) => (askedNames as readonly string[]).includes(name)), metricsMessage)
    .transform((text) => askedNames.filter((name) => text.split(",").includes(name)))
    .default([])
    .describe(
      "Extension: figures of visits, separated by commas, in the totals, `series`, `previous` and the rows of every list. Rates are 0 to 1, durations mean seconds. `timeOnPage` (mean seconds in sight of a page view) and `scrollDepth` (percent of the page that visitors saw, on average) come in the totals, `previous` and `topPages`; they are null without a report, and allow filters of `page` with `is` or `contains` alone",
    ),
);

/** `?limit=` as a number; a repeated parameter is an array and is refused. */
export const limitParameter = asParameter(
  { type: "integer", minimum: 1, maximum: 1_000, default: 10 },
  z
    .string()
    .regex(/^\d{1,4}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 1_000, limitMessage)
    .default(10)
    .describe("Rows of each top list, 1 to 1000"),
);

const onceMessage = "Must be given once, filters separated by ;";

/** `?filters=` as conditions on visits. */
export const filtersParameter = asParameter(
  { type: "string", examples: ["country:is:DE|FR;page:contains:/docs"] },
  z
    .string(onceMessage)
    .transform((text, context): Filter[] => {
      try {
        return parseFilters(text);
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        context.addIssue({ code: "custom", message: error.message });
        return z.NEVER;
      }
    })
    .default([])
    .describe(
      `Extension: answers of the visits that match alone: \`dimension:operator:value|value\`, several filters joined by \`;\`. Dimensions: ${filterDimensions.join(", ")}, prop.NAME. Operators: ${operators.join(", ")}. A backslash stands before each \`|\`, \`;\`, \`:\` and \`\\\` of a value. At most ${filterBounds.filters} filters of ${filterBounds.values} values`,
    ),
);

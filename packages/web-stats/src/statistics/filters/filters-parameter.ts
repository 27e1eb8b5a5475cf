import { asParameter } from "@waymark/service/fields";
import { z } from "zod";
import { type Filter, FilterError, filterBounds, filterDimensions, operators, parseFilters } from "./filter.js";

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

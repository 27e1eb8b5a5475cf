import { asParameter } from "@waymark/fields";
import { contractLists, furtherLists, type ListName, lists } from "@waymark/statistics";
import { z } from "zod";

const listNames = Object.keys(lists);
const namesMessage = `Must be names of lists, separated by commas: ${listNames.join(", ")}`;

/** `?lists=` as names in the order they were given, each once. */
export const listsParameter = asParameter(
  { type: "array", items: { enum: listNames }, minItems: 1, examples: [["browsers", "entryPages"]] },
  z
    .string(namesMessage)
    .refine((text) => text.split(",").every((name) => Object.hasOwn(lists, name)), namesMessage)
    .transform((text) => [...new Set(text.split(","))] as ListName[])
    .default([])
    .describe(
      `Extension: further lists, separated by commas: ${Object.keys(furtherLists).join(", ")}. With \`Accept: text/csv\` exactly one list, which may also be one of ${Object.keys(contractLists).join(", ")}`,
    ),
);

/** The further lists as members of the answer's schema. */
export const furtherListsShape = Object.fromEntries(
  Object.entries(furtherLists).map(([name, { key, showsPageviews }]) => {
    const figures = { visitors: z.number(), ...(showsPageviews && { pageviews: z.number() }) };
    const rows = z.array(z.object({ [key]: z.string(), ...figures }));
    return [name, rows.optional().describe("Extension: where `lists` names it")];
  }),
);

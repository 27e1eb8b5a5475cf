import { asParameter } from "@waymark/http";
import { z } from "zod";
import type { Dimension, StatRow } from "./read-stats.query.js";

/** A list of the answer: where its rows are kept, and what they are called. */
export interface StatList {
  dimension: Dimension;
  /** The member of a row that holds the value. */
  key: string;
  showsPageviews: boolean;
}

/** The lists of the contract, which every answer has. */
export const contractLists = {
  topPages: { dimension: "page", key: "path", showsPageviews: true },
  topReferrers: { dimension: "source", key: "source", showsPageviews: false },
  topCountries: { dimension: "country", key: "country", showsPageviews: false },
  channels: { dimension: "channel", key: "channel", showsPageviews: true },
} as const satisfies Record<string, StatList>;

/** The lists that an answer has where they are asked for. An entry is a visitor's, so it has no page views of its own. */
export const furtherLists = {
  browsers: { dimension: "browser", key: "browser", showsPageviews: true },
  operatingSystems: { dimension: "os", key: "os", showsPageviews: true },
  devices: { dimension: "device", key: "device", showsPageviews: true },
  entryPages: { dimension: "entry", key: "path", showsPageviews: false },
  utmSources: { dimension: "utm_source", key: "source", showsPageviews: true },
  utmMediums: { dimension: "utm_medium", key: "medium", showsPageviews: true },
  utmCampaigns: { dimension: "utm_campaign", key: "campaign", showsPageviews: true },
} as const satisfies Record<string, StatList>;

const lists = { ...contractLists, ...furtherLists };

/** A name that `?lists=` takes. */
export type ListName = keyof typeof lists;

const listNames = Object.keys(lists);
const namesMessage = `Must be names of lists, separated by commas: ${listNames.join(", ")}`;

/** The list of a name. */
export function findList(name: ListName): StatList {
  return lists[name];
}

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

/** A row as it is answered. */
export type ListRow = Record<string, string | number>;

/** The members of a list's rows, in order. */
export function columnsOf({ key, showsPageviews }: StatList): string[] {
  return [key, "visitors", ...(showsPageviews ? ["pageviews"] : [])];
}

/** The further lists as members of the answer's schema. */
export const furtherListsShape = Object.fromEntries(
  Object.entries(furtherLists).map(([name, { key, showsPageviews }]) => {
    const figures = { visitors: z.number(), ...(showsPageviews && { pageviews: z.number() }) };
    const rows = z.array(z.object({ [key]: z.string(), ...figures }));
    return [name, rows.optional().describe("Extension: where `lists` names it")];
  }),
);

/** The rows of one list out of all that were read. */
export function presentList({ dimension, key, showsPageviews }: StatList, rows: readonly StatRow[]): ListRow[] {
  return rows
    .filter((row) => row.dimension === dimension)
    .map(({ value, visitors, pageviews }) => ({ [key]: value, visitors, ...(showsPageviews && { pageviews }) }));
}

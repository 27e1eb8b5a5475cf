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

export const lists = { ...contractLists, ...furtherLists };

/** A name that `?lists=` takes. */
export type ListName = keyof typeof lists;

/** The list of a name. */
export function findList(name: ListName): StatList {
  return lists[name];
}

/** A row as it is answered. */
export type ListRow = Record<string, string | number>;

/** The members of a list's rows, in order. */
export function columnsOf({ key, showsPageviews }: StatList): string[] {
  return [key, "visitors", ...(showsPageviews ? ["pageviews"] : [])];
}

/** The rows of one list out of all that were read. */
export function presentList({ dimension, key, showsPageviews }: StatList, rows: readonly StatRow[]): ListRow[] {
  return rows
    .filter((row) => row.dimension === dimension)
    .map(({ value, visitors, pageviews }) => ({ [key]: value, visitors, ...(showsPageviews && { pageviews }) }));
}

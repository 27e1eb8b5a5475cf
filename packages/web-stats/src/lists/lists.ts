interface TableEntry {
  /** The name in rows of `daily_stat`. It never changes. */
  readonly dimension: string;
  /** The counted column of `event`; null counts nowhere. */
  readonly column: string;
  readonly key: string;
  readonly showsPageviews: boolean;
  readonly isInContract?: true;
  /** The values are few and fixed: an answer has all of them, as an object by value. */
  readonly isWhole?: true;
  /** Counts one page of each visit, in place of page views. */
  readonly visitPage?: "entry" | "exit";
  /** The dimension of its visits' figures: `entry` counts the first page of each visitor's UTC day. */
  readonly visitDimension?: string;
  /** A visit counts for every value of its page views; in other lists for the value that it began with. */
  readonly isPerView?: true;
}

/** Every list, in the order of an answer. Recording, rebuild, export, import, API, CSV and command line follow this table. */
const table = {
  topPages: {
    dimension: "page",
    column: "path",
    key: "path",
    showsPageviews: true,
    isInContract: true,
    isPerView: true,
  },
  topReferrers: { dimension: "source", column: "source", key: "source", showsPageviews: false, isInContract: true },
  topCountries: { dimension: "country", column: "country", key: "country", showsPageviews: false, isInContract: true },
  channels: {
    dimension: "channel",
    column: "channel",
    key: "channel",
    showsPageviews: true,
    isInContract: true,
    isWhole: true,
  },
  browsers: { dimension: "browser", column: "browser", key: "browser", showsPageviews: true },
  operatingSystems: { dimension: "os", column: "os", key: "os", showsPageviews: true },
  devices: { dimension: "device", column: "device", key: "device", showsPageviews: true },
  entryPages: {
    dimension: "entry",
    column: "path",
    key: "path",
    showsPageviews: false,
    visitPage: "entry",
    visitDimension: "visit_entry",
  },
  utmSources: { dimension: "utm_source", column: "utm_source", key: "source", showsPageviews: true },
  utmMediums: { dimension: "utm_medium", column: "utm_medium", key: "medium", showsPageviews: true },
  utmCampaigns: { dimension: "utm_campaign", column: "utm_campaign", key: "campaign", showsPageviews: true },
  exitPages: { dimension: "exit", column: "path", key: "path", showsPageviews: false, visitPage: "exit" },
  hosts: { dimension: "host", column: "host", key: "host", showsPageviews: true, isPerView: true },
} as const satisfies Record<string, TableEntry>;

export type ListName = keyof typeof table;
export type ListColumn = (typeof table)[ListName]["column"];

export interface StatisticsList extends TableEntry {
  readonly column: ListColumn;
}

export const lists: Readonly<Record<ListName, StatisticsList>> = table;
export const listNames = Object.keys(table) as ListName[];
export const listColumns: readonly ListColumn[] = [...new Set(Object.values(lists).map(({ column }) => column))];

export const viewLists: readonly StatisticsList[] = Object.values(lists).filter(({ visitPage }) => !visitPage);

export const visitLists: readonly StatisticsList[] = viewLists.filter(({ isPerView }) => !isPerView);

export function visitDimensionOf({ dimension, visitDimension }: StatisticsList): string {
  return visitDimension ?? dimension;
}

export const listDimensions: readonly string[] = [
  ...new Set(Object.values(lists).flatMap((list) => [list.dimension, visitDimensionOf(list)])),
];

/** The value under which a full list counts all further values. */
export const otherValue = "(other)";

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
  /** Counts each visitor's first page view of a UTC day. One list at most: the recorder keeps one entry per visitor. */
  readonly countsEntries?: true;
}

/** Every list, in the order of an answer. Recording, rebuild, export, import, API, CSV and command line follow this table. */
const table = {
  topPages: { dimension: "page", column: "path", key: "path", showsPageviews: true, isInContract: true },
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
  entryPages: { dimension: "entry", column: "path", key: "path", showsPageviews: false, countsEntries: true },
  utmSources: { dimension: "utm_source", column: "utm_source", key: "source", showsPageviews: true },
  utmMediums: { dimension: "utm_medium", column: "utm_medium", key: "medium", showsPageviews: true },
  utmCampaigns: { dimension: "utm_campaign", column: "utm_campaign", key: "campaign", showsPageviews: true },
} as const satisfies Record<string, TableEntry>;

export type ListName = keyof typeof table;
export type ListColumn = (typeof table)[ListName]["column"];

export interface StatisticsList extends TableEntry {
  readonly column: ListColumn;
}

export const lists: Readonly<Record<ListName, StatisticsList>> = table;
export const listNames = Object.keys(table) as ListName[];
export const listColumns: readonly ListColumn[] = [...new Set(Object.values(lists).map(({ column }) => column))];

export const viewLists: readonly StatisticsList[] = Object.values(lists).filter(({ countsEntries }) => !countsEntries);

/** The value under which a full list counts all further values. */
export const otherValue = "(other)";

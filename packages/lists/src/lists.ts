interface TableEntry {
  /** The name that rows are stored under in `daily_stat`. It never changes. */
  readonly dimension: string;
  /** The column of `event`, and the member of an event, whose value counts; null counts nowhere. */
  readonly column: string;
  /** The member of an answered row that holds the value; a column's title in CSV. */
  readonly key: string;
  /** Answered rows show page views, and page views decide between equal visitors. */
  readonly showsPageviews: boolean;
  /** The contract has this list, so every answer does. Other lists are answered when a request names them. */
  readonly isInContract?: true;
  /** The values are few and fixed: answers have all of them, as an object by value. */
  readonly isWhole?: true;
  /** Only a visitor's first page view of a UTC day counts. `entryPages` alone: the recorder keeps one entry per visitor. */
  readonly countsEntries?: true;
}

/**
 * Every list of the statistics, in the order of an answer's members. Recording, rebuilding, export and import, the API's
 * query, schema and CSV, and the command line follow this table.
 */
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

/** A name that answers, `?lists=` and the command line use. */
export type ListName = keyof typeof table;

/** A column of `event` that a list counts. */
export type ListColumn = (typeof table)[ListName]["column"];

/** A list: where its values are stored, and how they are answered. */
export interface StatisticsList extends TableEntry {
  readonly column: ListColumn;
}

/** The lists by name. */
export const lists: Readonly<Record<ListName, StatisticsList>> = table;

/** The names in the table's order. */
export const listNames = Object.keys(table) as ListName[];

/** The lists that every page view counts in: all but the entry pages. */
export const viewLists: readonly StatisticsList[] = Object.values(lists).filter(({ countsEntries }) => !countsEntries);

/** The columns that lists count, each once. */
export const listColumns: readonly ListColumn[] = [...new Set(Object.values(lists).map(({ column }) => column))];

/** The value that counts whatever a full day's list has no capacity for. */
export const otherValue = "(other)";

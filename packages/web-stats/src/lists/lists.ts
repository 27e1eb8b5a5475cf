interface TableEntry {
  /** The name in rows of `daily_stat`. It never changes. */
  readonly dimension: string;
  /** The counted column of `event`, unless it is called as the dimension; null counts nowhere. */
  readonly column?: string;
  /** The name of a value in an answer's rows, unless that is the column. */
  readonly key?: string;
  /** The name in `filters` and in stored days, unless that is the dimension. */
  readonly filter?: string;
  /** What the dashboard calls a value; the list has the plural. */
  readonly label: string;
  readonly card: string;
  /** Its place among the card's tabs; those without one follow in the table's order. */
  readonly tab?: number;
  /** True unless given. */
  readonly showsPageviews?: boolean;
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

/** Every list, in the order of an answer. All else follows this table, from recording to the dashboard. */
const table = {
  topPages: { dimension: "page", column: "path", label: "Page", card: "Pages", isInContract: true, isPerView: true },
  topReferrers: {
    dimension: "source",
    label: "Referrer",
    card: "Sources",
    tab: 1,
    showsPageviews: false,
    isInContract: true,
  },
  topCountries: {
    dimension: "country",
    label: "Country",
    card: "Countries",
    showsPageviews: false,
    isInContract: true,
  },
  channels: { dimension: "channel", label: "Channel", card: "Sources", tab: 2, isInContract: true, isWhole: true },
  browsers: { dimension: "browser", label: "Browser", card: "Technology" },
  operatingSystems: { dimension: "os", filter: "operatingSystem", label: "System", card: "Technology" },
  devices: { dimension: "device", label: "Device", card: "Technology" },
  entryPages: {
    dimension: "entry",
    column: "path",
    filter: "entryPage",
    label: "Entry page",
    card: "Pages",
    showsPageviews: false,
    visitPage: "entry",
    visitDimension: "visit_entry",
  },
  utmSources: { dimension: "utm_source", key: "source", filter: "utmSource", label: "UTM source", card: "Sources" },
  utmMediums: { dimension: "utm_medium", key: "medium", filter: "utmMedium", label: "UTM medium", card: "Sources" },
  utmCampaigns: {
    dimension: "utm_campaign",
    key: "campaign",
    filter: "utmCampaign",
    label: "Campaign",
    card: "Sources",
    tab: 3,
  },
  exitPages: {
    dimension: "exit",
    column: "path",
    filter: "exitPage",
    label: "Exit page",
    card: "Pages",
    showsPageviews: false,
    visitPage: "exit",
  },
  hosts: { dimension: "host", label: "Host", card: "Pages", isPerView: true },
} as const satisfies Record<string, TableEntry>;

type Table = typeof table;
type Entry = Table[ListName];

/** A member of an entry, or the dimension in its place. */
type Named<Member extends string, Each> =
  Each extends Record<Member, infer Name extends string>
    ? Name
    : Each extends { dimension: infer Name extends string }
      ? Name
      : never;

export type ListName = keyof Table;
export type ListColumn = Named<"column", Entry>;
/** What a visit has one value of, by its name in `filters`. */
export type VisitFilter = Named<"filter", Exclude<Entry, { isPerView: true }>>;
/** What each page view has a value of. */
export type ViewFilter = Named<"filter", Extract<Entry, { isPerView: true }>>;

export interface StatisticsList extends TableEntry {
  readonly column: ListColumn;
  readonly key: string;
  readonly filter: VisitFilter | ViewFilter;
  readonly showsPageviews: boolean;
}

export const listNames = Object.keys(table) as ListName[];

export const lists = Object.fromEntries(
  Object.entries<TableEntry>(table).map(([name, entry]) => {
    const { dimension, column = dimension } = entry;
    return [name, { column, key: column, filter: dimension, showsPageviews: true, ...entry }];
  }),
) as Readonly<Record<ListName, StatisticsList>>;

const all = Object.values(lists);

export const contractNames = listNames.filter((name) => lists[name].isInContract);

/** Answered on request. */
export const furtherNames = listNames.filter((name) => !lists[name].isInContract);

export const listColumns: readonly ListColumn[] = [...new Set(all.map(({ column }) => column))];

/** The lists that count page views. */
export const viewLists: readonly StatisticsList[] = all.filter(({ visitPage }) => !visitPage);

/** Those of them that a visit counts in by the value that it began with. */
export const visitLists: readonly StatisticsList[] = viewLists.filter(({ isPerView }) => !isPerView);

/** Those that a visit counts in by the values of all its page views. */
export const listsPerView: readonly StatisticsList[] = all.filter(({ isPerView }) => isPerView);

/** Those that a visit has one value of, with its entry and exit page. */
export const listsPerVisit: readonly StatisticsList[] = all.filter(({ isPerView }) => !isPerView);

/** The column of `visit` with a visit's value. */
export function visitColumnOf({ column, visitPage }: StatisticsList): string {
  return visitPage ? `${visitPage}_path` : column;
}

export function visitDimensionOf({ dimension, visitDimension }: StatisticsList): string {
  return visitDimension ?? dimension;
}

/** Of its figures, with those of visits or without. */
export function dimensionOf(list: StatisticsList, withVisits: boolean): string {
  return withVisits ? visitDimensionOf(list) : list.dimension;
}

export const listDimensions: readonly string[] = [
  ...new Set(all.flatMap((list) => [list.dimension, visitDimensionOf(list)])),
];

/** The value under which a full list counts all further values. */
export const otherValue = "(other)";

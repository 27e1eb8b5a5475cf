import { hash } from "node:crypto";
import { serialize } from "node:v8";
import {
  listsPerView,
  listsPerVisit,
  type StatisticsList,
  type ViewFilter,
  type VisitFilter,
} from "../../lists/lists.js";

/** Indexes into the values of a column, as narrow as their number allows. */
export type Ids = Uint8Array | Uint16Array | Uint32Array;

/** A column of texts: each row's value is `values[ids[row]]`. The empty text stands for an unknown value. */
export interface TextColumn {
  readonly values: readonly string[];
  readonly ids: Ids;
}

/** The attributes that a visit has from its beginning, its entry page and its exit page. */
export const visitDimensions = listsPerVisit.map(({ filter }) => filter as VisitFilter);

type DetailName = Exclude<ViewFilter, "page"> | "props" | "revenue";

const viewDetails = listsPerView.filter(({ filter }) => filter !== "page");

export const detailColumns = {
  ...Object.fromEntries(viewDetails.map(({ filter, column }) => [filter, column])),
  props: "props::text",
  revenue: "revenue_currency || ' ' || trim_scale(revenue_amount)",
} as Readonly<Record<DetailName, string>>;

export const detailNames = Object.keys(detailColumns) as DetailName[];

/** Stored parts are outdated with another form, another list, or another form of V8's values, their second byte. */
export const formVersion = `3-${serialize(0)[1]}-${hash("md5", [...visitDimensions, ...detailNames].join()).slice(0, 8)}`;

/**
 * Some visitors of a site's UTC day with all their visits and events, a column at a time. Visits are in order of visitor and
 * beginning, events in order of visitor, moment and id, so a visit's events and a visitor's visits stand together. Events
 * without a visitor belong to no visit and are in no part.
 */
export interface DayPart {
  /** Of the visits, from 0; each visitor has one visit at least. */
  readonly visitors: number;
  readonly visits: {
    readonly count: number;
    /** From 0, without a gap. */
    readonly visitor: Uint32Array;
    /** The first event of each visit, and the number of all events at the end. */
    readonly firstEvent: Uint32Array;
    /** Page views; the other events are custom ones. */
    readonly views: Ids;
    /** 1 for a visit with one page view and no interactive custom event. */
    readonly bounce: Uint8Array;
    /** Between its beginning and its end, in units of `durationUs` microseconds. */
    readonly duration: Uint32Array | Float64Array;
    readonly durationUs: number;
    readonly dimensions: Readonly<Record<VisitFilter, TextColumn>>;
  };
  readonly events: {
    readonly count: number;
    /** A custom event's name; empty for a page view, which `names.values[0]` always stands for. */
    readonly names: TextColumn;
    /** A page view's path; empty for custom events. */
    readonly pages: TextColumn;
    /** Milliseconds since midnight UTC. Only where asked for. */
    readonly times: Uint32Array | undefined;
    /** Hosts, properties as JSON, and revenue as `EUR 12.5`; each empty for none. Only where asked for. */
    readonly details: Readonly<Record<DetailName, TextColumn>> | undefined;
  };
}

export function isOfDetails(list: StatisticsList): boolean {
  return viewDetails.includes(list);
}

export function columnOf({ visits, events }: DayPart, { filter }: StatisticsList): TextColumn {
  const column = { ...visits.dimensions, page: events.pages, ...events.details }[filter];
  if (!column) throw new Error("The part was read without its details");
  return column;
}

export interface PartNeeds {
  readonly times?: boolean;
  readonly details?: boolean;
}

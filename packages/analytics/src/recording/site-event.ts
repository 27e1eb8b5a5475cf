import type { Channel } from "../attribution/channels.js";

/** A value of a custom event's property. */
export type PropertyValue = string | number | boolean;

/** One page view or custom event of a site, as it is recorded. */
export interface SiteEvent {
  readonly siteId: string;
  /** A UUID whose first 48 bits are the milliseconds of `at`; an id that is recorded already is not recorded again. */
  readonly id: string;
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: "pageview" | "event";
  /** The visitor of that UTC day, see `visitors.ts`: a bigint as text; null where the event names none. */
  readonly visitor: string | null;
  /** Without query and fragment; a page view always has one. */
  readonly path: string | null;
  readonly referrer: string | null;
  readonly source: string | null;
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2, upper case; null where it is not known. */
  readonly country: string | null;
  /** Names of what the visit was made with, from the browser's own description; null where it gives none. */
  readonly browser: string | null;
  readonly os: string | null;
  /** `desktop`, `mobile`, `tablet`, `tv` or another kind that is told apart; null where it is not known. */
  readonly device: string | null;
  readonly utmSource: string | null;
  /** In lower case, as is the campaign. */
  readonly utmMedium: string | null;
  readonly utmCampaign: string | null;
  /** A custom event's name. */
  readonly name: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
}

/**
 * Bounds in bytes of UTF-8. Paths, sources and property values are parts of primary keys, and a B-tree entry of
 * Postgres takes at most 2,704 bytes.
 */
export const eventBounds = {
  pathBytes: 2_000,
  nameBytes: 200,
  propertyNameBytes: 200,
  propertyValueBytes: 2_000,
  properties: 30,
  /** Of all properties together, as JSON. */
  propertiesBytes: 8_192,
} as const;

/** The lists that a page view counts in, by the name of their dimension in `daily_stat`. */
export const dimensions = [
  "page",
  "source",
  "channel",
  "country",
  "browser",
  "os",
  "device",
  "utm_source",
  "utm_medium",
  "utm_campaign",
] as const;

/** What counts in no list of its own for lack of room there is counted under this value. */
export const otherValue = "(other)";

/** A list: one of the dimensions, or `entry`, the pages that visitors came in by. */
export type ListName = (typeof dimensions)[number] | "entry";

/** What an event counts as in a list; null where it counts in none. */
export function valueIn(event: SiteEvent, list: ListName): string | null {
  switch (list) {
    case "page":
    case "entry":
      return event.path;
    case "utm_source":
      return event.utmSource;
    case "utm_medium":
      return event.utmMedium;
    case "utm_campaign":
      return event.utmCampaign;
    default:
      return event[list];
  }
}

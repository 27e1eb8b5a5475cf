import type { ListColumn } from "../../lists/lists.js";
import type { Channel } from "../attribution/channels.js";

export type PropertyValue = string | number | boolean;

export const eventTypes = ["pageview", "event", "engagement"] as const;
export type EventType = (typeof eventTypes)[number];

export interface Revenue {
  /** A decimal, such as `-12.5`. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
}

/** How long a visitor had a page in sight, and how far down. */
export interface Engagement {
  /** Since the report before it. */
  readonly engagedMs: number | null;
  /** The lowest point in sight so far, in percent of the page. */
  readonly scrollDepth: number | null;
}

/**
 * One page view, custom event or report of engagement as recorded, with a member for each column of a list (`packages/web-stats/src/lists`), null if unknown.
 * `utm_source` is as written, other tags are in lower case.
 */
export interface SiteEvent extends Readonly<Record<ListColumn, string | null>> {
  readonly siteId: string;
  /** A UUID whose first 48 bits are the milliseconds of `at`. A known id is not recorded again. */
  readonly id: string;
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: EventType;
  /** The visitor of the UTC day (`visitors/`), a bigint as text; null for none. */
  readonly visitor: string | null;
  /** Without query and fragment; page views always have one. */
  readonly path: string | null;
  readonly referrer: string | null;
  /** Of its URL, in lower case and without the port. */
  readonly host: string | null;
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2 in upper case. */
  readonly country: string | null;
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly device: string | null;
  /** A custom event's name. */
  readonly name: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
  readonly revenue: Revenue | null;
  /** False for a custom event that does not end a bounce. */
  readonly isInteractive: boolean;
  readonly engagement: Engagement | null;
}

/** Bytes of UTF-8. Paths, sources and property values are parts of primary keys; a B-tree entry takes at most 2,704 bytes. */
export const eventBounds = {
  pathBytes: 2_000,
  hostBytes: 255,
  nameBytes: 200,
  propertyNameBytes: 200,
  propertyValueBytes: 2_000,
  properties: 30,
  /** All properties together, as JSON. */
  propertiesBytes: 8_192,
  /** A day. */
  engagedMs: 86_400_000,
  scrollDepth: 100,
} as const;

import type { ListColumn } from "@waymark/lists";
import type { Channel } from "../attribution/channels.js";

/** A value of a custom event's property. */
export type PropertyValue = string | number | boolean;

/**
 * One page view or custom event of a site, as it is recorded. Beside the members named here it has one for each column that
 * a list counts (`packages/lists`), null where it is not known. `utm_source` is as written, other tags are in lower case.
 */
export interface SiteEvent extends Readonly<Record<ListColumn, string | null>> {
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
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2, upper case; null where it is not known. */
  readonly country: string | null;
  /** `desktop`, `mobile`, `tablet`, `tv` or another kind that is told apart; null where it is not known. */
  readonly device: string | null;
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

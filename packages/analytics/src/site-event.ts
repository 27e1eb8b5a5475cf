import type { Channel } from "./channels.js";

/** A value of a custom event's property. */
export type PropertyValue = string | number | boolean;

/** One page view or custom event of a site, as it is recorded. */
export interface SiteEvent {
  /** A UUID whose first 48 bits are the milliseconds of `at`; an id that is recorded already is not recorded again. */
  readonly id: string;
  /** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  readonly at: string;
  readonly type: "pageview" | "event";
  /** The visitor of that UTC day, see `visitors.ts`; null where the event names none. */
  readonly visitor: bigint | null;
  /** Without query and fragment; a page view always has one. */
  readonly path: string | null;
  readonly referrer: string | null;
  readonly source: string | null;
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2, upper case; null where it is not known. */
  readonly country: string | null;
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
} as const;

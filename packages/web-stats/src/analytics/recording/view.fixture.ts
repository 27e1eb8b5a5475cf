import { type ListColumn, listColumns } from "../../lists/lists.js";
import type { SiteEvent } from "./site-event.js";

const unknown = Object.fromEntries(listColumns.map((column) => [column, null])) as Record<ListColumn, null>;

/** A page view with a visitor and a path; tests add a site and an id. */
export const view: Omit<SiteEvent, "siteId"> = {
  ...unknown,
  id: "",
  at: "2026-05-01T12:00:00.000000Z",
  type: "pageview",
  visitor: "1",
  path: "/",
  referrer: null,
  channel: "Direct",
  name: null,
  props: null,
  revenue: null,
  isInteractive: true,
  engagement: null,
};

import type { SiteEvent } from "./site-event.js";

/** A page view with a visitor and a path; tests add a site and an id. */
export const view: Omit<SiteEvent, "siteId"> = {
  id: "",
  at: "2026-05-01T12:00:00.000000Z",
  type: "pageview",
  visitor: "1",
  path: "/",
  referrer: null,
  source: null,
  channel: "Direct",
  country: null,
  browser: null,
  os: null,
  device: null,
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  name: null,
  props: null,
};

import type { SourceKind } from "./referrer-directory.js";

/** How a visitor came, in lower case; `kind` is undefined without a source. */
export interface Arrival {
  /** The tag or the host, not the display name. */
  readonly source: string;
  readonly kind: SourceKind | undefined;
  readonly medium: string;
  readonly campaign: string;
  /** The URL has the click id of an advertisement, and no `utm_medium`. */
  readonly isAdClick: boolean;
}

const paidMedium = /^(.*cp.*|ppc|retargeting|paid.*)$/;
const shoppingCampaign = /^(.*(([^a-df-z]|^)shop|shopping).*)$/;
const emailWord = /^(e[-_ ]?mail|newsletter)$/;
const displayMedia = new Set(["display", "banner", "expandable", "interstitial", "cpm"]);
const socialMedia = new Set(["social", "social-network", "social-media", "sm", "social network", "social media"]);
const referralMedia = new Set(["referral", "app", "link"]);

const isPaid = ({ medium, isAdClick }: Arrival) => isAdClick || paidMedium.test(medium);
const isShopping = ({ kind, campaign }: Arrival) => kind === "shopping" || shoppingCampaign.test(campaign);

/**
 * The channels in order; the first match counts (design, "Statistics"). The conditions are GA4's
 * (support.google.com/analytics/answer/9756891). Instead of its `Unassigned`, a visit with a source is a `Referral` and any
 * other is `Direct`. Beyond GA4, click ids of ads count as a paid medium, and webmail and `newsletter` as `Email`.
 */
const rules = [
  ["Cross-network", ({ campaign }) => campaign.includes("cross-network")],
  ["Paid Shopping", (arrival) => isPaid(arrival) && isShopping(arrival)],
  ["Paid Search", (arrival) => isPaid(arrival) && (arrival.kind === "search" || isSearchAd(arrival))],
  ["Paid Social", (arrival) => isPaid(arrival) && arrival.kind === "social"],
  ["Paid Video", (arrival) => isPaid(arrival) && arrival.kind === "video"],
  ["Display", ({ medium }) => displayMedia.has(medium)],
  ["Paid Other", (arrival) => isPaid(arrival)],
  ["Shopping", (arrival) => isShopping(arrival)],
  ["Social", ({ kind, medium }) => kind === "social" || socialMedia.has(medium)],
  ["Video", ({ kind, medium }) => kind === "video" || medium.includes("video")],
  ["AI Assistants", ({ kind, medium }) => kind === "ai" || medium === "ai-assistant"],
  ["Search", ({ kind, medium }) => kind === "search" || medium === "organic"],
  ["Email", ({ kind, source, medium }) => kind === "email" || emailWord.test(source) || emailWord.test(medium)],
  ["Affiliates", ({ medium }) => medium === "affiliate" || medium === "affiliates"],
  ["Audio", ({ medium }) => medium === "audio"],
  ["SMS", ({ source, medium }) => source === "sms" || medium === "sms"],
  ["Push", ({ source, medium }) => source === "firebase" || /push$|mobile|notification/.test(medium)],
  ["Referral", ({ kind, medium }) => kind !== undefined || referralMedia.has(medium)],
  ["Direct", () => true],
] as const satisfies readonly (readonly [string, (arrival: Arrival) => boolean])[];

export type Channel = (typeof rules)[number][0];

/** In the order of the rules. */
export const channels: readonly Channel[] = rules.map(([channel]) => channel);

export function channelOf(arrival: Arrival): Channel {
  return rules.find(([, fits]) => fits(arrival))?.[0] ?? "Direct";
}

/** Click ids of ads belong to searches, unless the ad is on a social or video site. */
function isSearchAd({ isAdClick, kind }: Arrival): boolean {
  return isAdClick && kind !== "social" && kind !== "video";
}

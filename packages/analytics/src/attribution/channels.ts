import type { SourceKind } from "./source.js";

/** What is known of how a visitor came, all in lower case; the source's kind is undefined where there is no source. */
export interface Arrival {
  /** The source as tagged or as a host, not its display name. */
  readonly source: string;
  readonly kind: SourceKind | undefined;
  readonly medium: string;
  readonly campaign: string;
  /** The click id of an advertisement is in the URL, and no `utm_medium` says otherwise. */
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
 * The channels in the order in which they are tried; the first that fits counts (design, "Statistics"). The conditions
 * are those of GA4's default channel group (support.google.com/analytics/answer/9756891). Where GA4 would say
 * `Unassigned`, a visit with a source is a `Referral` and one without is `Direct`, so that nothing is dropped.
 * Ours beyond GA4: click ids of advertisements count as a paid medium, webmail and `newsletter` as `Email`.
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

/** A traffic channel. */
export type Channel = (typeof rules)[number][0];

/** All channels, in the order in which they are tried. */
export const channels: readonly Channel[] = rules.map(([channel]) => channel);

/** The channel of an arrival. */
export function channelOf(arrival: Arrival): Channel {
  return rules.find(([, fits]) => fits(arrival))?.[0] ?? "Direct";
}

/** Google's and Microsoft's click ids belong to searches, unless the source says that the ad stood elsewhere. */
function isSearchAd({ isAdClick, kind }: Arrival): boolean {
  return isAdClick && kind !== "social" && kind !== "video";
}

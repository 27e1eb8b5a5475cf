import { Buffer } from "node:buffer";
import { LRUCache } from "lru-cache";
import { type ListColumn, listColumns } from "../../lists/lists.js";
import type { ReferrerDirectory, Source, SourceKind } from "./referrer-directory.js";

/** The longest start of a text within a number of UTF-8 bytes; it cuts no character in half. */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  // Bytes 10xxxxxx continue a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/** How a visitor came, in lower case; `kind` is undefined without a source. */
interface Arrival {
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

export const channels: readonly Channel[] = rules.map(([channel]) => channel);

function channelOf(arrival: Arrival): Channel {
  return rules.find(([, fits]) => fits(arrival))?.[0] ?? "Direct";
}

/** Click ids of ads belong to searches, unless the ad is on a social or video site. */
function isSearchAd({ isAdClick, kind }: Arrival): boolean {
  return isAdClick && kind !== "social" && kind !== "video";
}

interface Referrer {
  /** Lower case, without port and `www.`; an app's id, such as `com.twitter.android`. */
  readonly host: string;
  readonly path: string;
  /** The address to store, without query, fragment and user name. */
  readonly stored: string;
}

/** A longer referrer keeps its origin only. */
const referrerMaxBytes = 2_000;

/** DNS allows no longer name (RFC 1035, 2.3.4). */
const hostMaxLength = 253;

const appAddress = /^(android-app|ios-app):\/\/([\w.-]+)(?:\/(https?)\/(.+))?/i;
const bareAddress = /^(?:\/\/)?([a-z\d-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|$)/i;

/**
 * Reads a referrer as browsers, apps and access logs write it. An address without `http://` counts like one with it, and an
 * app's address with a web page like that page.
 * @returns undefined for an empty text, `-`, `about:blank`, files and unreadable text
 */
function readReferrer(text: string): Referrer | undefined {
  const trimmed = text.trim();
  const app = appAddress.exec(trimmed);
  if (app) {
    const [, scheme = "", id = "", pageScheme, page] = app;
    if (pageScheme && page) return readWebAddress(`${pageScheme}://${page}`);
    const host = id.toLowerCase();
    return host.length > hostMaxLength ? undefined : { host, path: "/", stored: `${scheme.toLowerCase()}://${host}` };
  }
  if (/^https?:/i.test(trimmed)) return readWebAddress(trimmed);
  return bareAddress.test(trimmed) ? readWebAddress(`http://${trimmed.replace(/^\/\//, "")}`) : undefined;
}

function readWebAddress(text: string): Referrer | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const host = bareHost(url.hostname);
  if (host === "" || host.length > hostMaxLength) return undefined;
  const whole = url.origin + url.pathname;
  const stored = Buffer.byteLength(whole) <= referrerMaxBytes ? whole : url.origin;
  return { host, path: url.pathname, stored };
}

function bareHost(host: string): string {
  const lower = host.toLowerCase().replace(/\.+$/, "");
  return /^www\..*\./.test(lower) ? lower.slice(4) : lower;
}

/** The host of a site's domain as people write it: `www.Example.com`, `https://example.com/`, `localhost:3000`. */
function siteHost(domain: string): string {
  const withoutScheme = domain.trim().replace(/^[a-z]+:\/\//i, "");
  const address = `http://${withoutScheme}`;
  return bareHost(URL.canParse(address) ? new URL(address).hostname : withoutScheme);
}

/** Bytes of UTF-8; the rest of a longer tag is cut. */
const tagMaxBytes = 255;

type TagName = Extract<ListColumn, `utm_${string}`>;

const tagNames = listColumns.filter((column): column is TagName => column.startsWith("utm_"));

/** Tags as stored: `utm_source` as written, others in lower case; null for none. */
type TagValues = Readonly<Record<TagName, string | null>>;

interface Tags {
  readonly values: TagValues;
  /** `utm_source=(direct)`: the visit has no source. */
  readonly isDirect: boolean;
  /** The network of a click id. */
  readonly network: string | undefined;
  /** The click id is of an advertisement, and there is no `utm_medium`. */
  readonly isAdClick: boolean;
}

/** Facebook adds its click id to every link, the other networks to advertisements only. */
const clickIds: readonly { parameter: string; network: string; isAd: boolean }[] = [
  { parameter: "gclid", network: "Google", isAd: true },
  { parameter: "gbraid", network: "Google", isAd: true },
  { parameter: "wbraid", network: "Google", isAd: true },
  { parameter: "msclkid", network: "Bing", isAd: true },
  { parameter: "yclid", network: "Yandex", isAd: true },
  { parameter: "ttclid", network: "TikTok", isAd: true },
  { parameter: "twclid", network: "Twitter", isAd: true },
  { parameter: "fbclid", network: "Facebook", isAd: false },
];

/** Most queries have neither, and parsing one costs more than this test. */
const anyTag = /utm_|cl(?:k)?id=|braid=/;

const directSources = new Set(["(direct)", "direct"]);
const emptyValues = new Set(["(not set)", "(none)"]);

const noTags = readParameters(new URLSearchParams());

function readTags(query: string | null): Tags {
  return query !== null && anyTag.test(query) ? readParameters(new URLSearchParams(query)) : noTags;
}

function readParameters(parameters: URLSearchParams): Tags {
  const values = Object.fromEntries(tagNames.map((name) => [name, readTag(parameters, name)])) as TagValues;
  const { utm_source, utm_medium } = values;
  const click = clickIds.find(({ parameter }) => parameters.get(parameter));
  return {
    values,
    isDirect: utm_source !== null && directSources.has(utm_source.toLowerCase()) && utm_medium === null,
    network: click?.network,
    isAdClick: click?.isAd === true && utm_medium === null,
  };
}

/** A tag without control characters: Postgres cannot store all of them. */
function readTag(parameters: URLSearchParams, name: TagName): string | null {
  const written = parameters.get(name);
  if (written === null) return null;
  const text = cutToBytes(written, tagMaxBytes)
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (text === "" || emptyValues.has(text.toLowerCase())) return null;
  return name === "utm_source" ? text : text.toLowerCase();
}

export interface Classification extends TagValues {
  /** The known name, such as `Google`, or the host; null if unknown. */
  readonly source: string | null;
  readonly channel: Channel;
  /** As stored; null for the site itself. */
  readonly referrer: string | null;
}

/** Bytes of UTF-8. */
const sourceMaxBytes = 255;

/** Sites see the same few referrers again and again. */
const maxCachedReferrers = 10_000;

interface Origin {
  readonly text: string;
  readonly source: Source;
}

interface KnownReferrer {
  readonly origin: Origin | undefined;
  readonly stored: string | null;
  /** Of a visit without tags, as most are: nothing is worked out again for each event. */
  readonly untagged: Classification;
}

/** Makes the function that reads referrers to any site, with a cache that all sites of a process share. */
export function createReferrerReader(referrers: ReferrerDirectory): (text: string) => KnownReferrer {
  const read = (text: string): KnownReferrer => {
    const referrer = readReferrer(text);
    if (!referrer) return noReferrer;
    const { host, path, stored } = referrer;
    const origin: Origin = { text: host, source: referrers.byHost(host, path) ?? { name: host, kind: "other" } };
    return { origin, stored, untagged: classify(origin, noTags, stored) };
  };
  const known = new LRUCache<string, KnownReferrer>({ max: maxCachedReferrers, memoMethod: read });
  return (text) => known.memo(text);
}

interface SourceClassifierOptions {
  referrers: ReferrerDirectory;
  siteDomain: string;
  /** One of this classifier alone, if omitted. */
  read?: ReturnType<typeof createReferrerReader>;
}

/**
 * Makes the function that finds source and channel of a visit to a site, by the event's own referrer and URL. `utm_source` beats
 * the referrer, and the referrer beats a click id's network. The site's domain, with or without `www.`, and its subdomains are
 * no referrer (design, "Statistics").
 */
export function createSourceClassifier(options: SourceClassifierOptions) {
  const { referrers, siteDomain, read = createReferrerReader(referrers) } = options;
  const own = siteHost(siteDomain);

  const recall = (text: string): KnownReferrer => {
    const known = read(text);
    return known.origin && isWithin(known.origin.text, own) ? noReferrer : known;
  };

  /** @param referrer as the client sent it; `query` is of the visited URL, with or without `?`; null for none */
  return (referrer: string | null, query: string | null): Classification => {
    const { origin: referred, stored, untagged } = referrer === null ? noReferrer : recall(referrer);
    const tags = readTags(query);
    if (tags === noTags) return untagged;
    if (tags.isDirect) return classify(undefined, tags, stored);
    const { utm_source } = tags.values;
    const tagged = utm_source === null ? undefined : readTaggedSource(utm_source, referrers);
    return classify(tagged ?? referred ?? networkOf(tags, referrers), tags, stored);
  };
}

const noReferrer: KnownReferrer = { origin: undefined, stored: null, untagged: classify(undefined, noTags, null) };

function classify(origin: Origin | undefined, tags: Tags, referrer: string | null): Classification {
  const { values, isAdClick } = tags;
  const channel = channelOf({
    source: origin?.text ?? "",
    kind: origin?.source.kind,
    medium: values.utm_medium ?? "",
    campaign: values.utm_campaign ?? "",
    isAdClick,
  });
  return { source: origin ? cutToBytes(origin.source.name, sourceMaxBytes) : null, channel, referrer, ...values };
}

/** A known name, a host, or any other text, kept as it is. */
function readTaggedSource(tagged: string, referrers: ReferrerDirectory): Origin {
  const text = tagged.toLowerCase();
  const named = referrers.byName(text);
  if (named) return { text, source: named };
  const address = text.includes(".") && !/\s/.test(text) ? readReferrer(text) : undefined;
  if (!address) return { text, source: { name: tagged, kind: "other" } };
  const { host, path } = address;
  return { text: host, source: referrers.byHost(host, path) ?? { name: bareHost(host), kind: "other" } };
}

function networkOf({ network }: Tags, referrers: ReferrerDirectory): Origin | undefined {
  const source = network === undefined ? undefined : referrers.byName(network);
  return source && { text: source.name.toLowerCase(), source };
}

function isWithin(host: string, domain: string): boolean {
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

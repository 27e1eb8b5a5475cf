import { LRUCache } from "lru-cache";
import { type Channel, channelOf } from "./channels.js";
import { cutToBytes } from "./cut-to-bytes.js";
import { bareHost, readReferrer, siteHost } from "./referrer.js";
import type { ReferrerDirectory } from "./referrer-directory.js";
import type { Source } from "./source.js";
import { noTags, readTags, type Tags, type TagValues } from "./tags.js";

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

export interface SourceClassifierOptions {
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

  /**
   * @param referrer as the client sent it; null for none
   * @param query of the visited URL, with or without `?`; null for none
   */
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
  return {
    source: origin ? cutToBytes(origin.source.name, sourceMaxBytes) : null,
    channel,
    referrer,
    ...values,
  };
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
